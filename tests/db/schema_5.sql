-- A database of schema 5 as its last version wrote it: that of schema 4 with an empty table of probed hosts. What a measurement was timed beside is not kept.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE attestation (record INTEGER NOT NULL REFERENCES record(id), host BLOB NOT NULL, checker INTEGER NOT NULL, mac BLOB NOT NULL, PRIMARY KEY (record, host)) STRICT, WITHOUT ROWID;
INSERT INTO "attestation" VALUES(4,X'68686868686868686868686868686868',1,X'6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D6D');
CREATE TABLE binding (id INTEGER PRIMARY KEY, program INTEGER NOT NULL REFERENCES program(id), parameters TEXT NOT NULL, UNIQUE (program, parameters)) STRICT;
INSERT INTO "binding" VALUES(1,1,'512,1,64');
INSERT INTO "binding" VALUES(2,2,'512,2,64');
INSERT INTO "binding" VALUES(3,3,'12');
CREATE TABLE certificate (record INTEGER PRIMARY KEY REFERENCES record(id), verdict INTEGER NOT NULL, checker_version INTEGER NOT NULL, isl_version TEXT NOT NULL, check_ms REAL NOT NULL) STRICT;
INSERT INTO "certificate" VALUES(1,1,1,'isl 0.25',12.5);
INSERT INTO "certificate" VALUES(2,1,1,'isl 0.25',12.5);
INSERT INTO "certificate" VALUES(3,3,1,'isl 0.25',12.5);
INSERT INTO "certificate" VALUES(4,1,1,'0.25',3.42060799999999964882e+00);
CREATE TABLE effort (task INTEGER PRIMARY KEY REFERENCES task(id), wall_s REAL NOT NULL, trials INTEGER NOT NULL, until_share REAL NOT NULL, exhausted_by TEXT NOT NULL, digest BLOB NOT NULL) STRICT;
INSERT INTO "effort" VALUES(3,12.5,40,0.0,'',X'98163D1B111AB80997FE235999B9E8EE');
CREATE TABLE measurement (id INTEGER PRIMARY KEY, trace INTEGER NOT NULL REFERENCES trace(id), nest_hash TEXT NOT NULL, status INTEGER NOT NULL, detail TEXT NOT NULL, median_ns REAL NOT NULL, min_ns REAL NOT NULL, ci_rel REAL NOT NULL, samples INTEGER NOT NULL, ratio REAL NOT NULL, predicted_ns REAL NOT NULL, strategy TEXT NOT NULL, seed INTEGER NOT NULL, toolchain TEXT NOT NULL, unix_time INTEGER NOT NULL, digest BLOB NOT NULL) STRICT;
INSERT INTO "measurement" VALUES(1,1,'hash1',0,'',1001.0,990.0,0.01,31,0.9,1100.0,'enumerate',7,'polyweft 0.1.0',1790000000,X'C7675DED22B489B8C46E6B66A1CFA7BB');
INSERT INTO "measurement" VALUES(2,2,'hash2',0,'',1002.0,990.0,0.01,31,0.9,1100.0,'enumerate',7,'polyweft 0.1.0',1790000000,X'EA0C488FFE72E63BFC0D1B5DFBF7A7FB');
INSERT INTO "measurement" VALUES(3,2,'hash2',0,'',500.0,990.0,0.01,31,0.9,1100.0,'enumerate',7,'polyweft 0.1.0',1790000000,X'BBA5D21B31068BC9DACE6877DA0ECCAD');
INSERT INTO "measurement" VALUES(4,3,'hash f',3,'no end',0.0,0.0,0.0,0,0.0,0.0,'',0,'',0,X'4F88E85D2B5CAC21313C70EFF0B9C1FC');
INSERT INTO "measurement" VALUES(5,4,'f474735559950671f63e52b11db51244',0,'',16.975,16.875,2.94550810014721246507e-03,9,0.0,153.0396322,'evolve',1,'polyweft 0.1.0 llvm 22.1.8 isl 0.25',1795453316,X'A6265395559DF6C14D681B5C403A268D');
INSERT INTO "measurement" VALUES(6,5,'4c82fbe28da6bd214376a571c9927b92',0,'',1.78571428571428540981e+01,1.76593406593406605504e+01,1.40000000000000020261e-02,8,1.04174024830646239081e+00,1.86674716199999949145e+02,'evolve',1,'polyweft 0.1.0 llvm 22.1.8 isl 0.25',1795453316,X'C66F065482EFB556BAC5F299EFADE37E');
INSERT INTO "measurement" VALUES(7,4,'f474735559950671f63e52b11db51244',0,'',16.975,16.875,2.94550810014721246507e-03,9,0.0,153.0396322,'evolve',1,'polyweft 0.1.0 llvm 22.1.8 isl 0.25',1795453316,X'A6265395559DF6C14D681B5C403A268D');
CREATE TABLE probe (host TEXT PRIMARY KEY, name TEXT NOT NULL, figures TEXT NOT NULL, toolchain TEXT NOT NULL, unix_time INTEGER NOT NULL, digest BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE program (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, canonical TEXT NOT NULL, source TEXT NOT NULL, name TEXT NOT NULL, digest BLOB NOT NULL) STRICT;
INSERT INTO "program" VALUES(1,'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1','canonical 1','program p1()','p1',X'04782BD57A37183AF8EC6ABA904CF8FD');
INSERT INTO "program" VALUES(2,'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa2','canonical 2','program p2()','p2',X'11E6CE20A897A02F04338B1E3C1A9671');
INSERT INTO "program" VALUES(3,'80e28f7b6366dad09f2af7b2a524a3c1','polyweft program 1
parameters 1
const
assume {+1p000-1>=0}1
in i32/1[+1p000+0,]values-100..+100
in i32/2[+1p000+0,+1p000+0,]values-100..+100
out i32/1[]
y0 [v000<+1p000+0,]{+1p000-1v000-1>=0&+1v000+0>=0}1=sum[1{+1p000-1v001-1>=0&+1v001+0>=0}1](mul(x0[+1v001+0,],x1[+1v000+0,+1v001+0,]))
','program tiny(N = 12)
in  A: i32[N] values -100..100
in  B: i32[N, N] values -100..100
out C[i: N] = sum[k: N](A[k] * B[i, k])
','tiny',X'87B64F8866205D62CE2DE6979C07604C');
CREATE TABLE record (id INTEGER PRIMARY KEY, key BLOB NOT NULL, task INTEGER NOT NULL REFERENCES task(id), program INTEGER NOT NULL REFERENCES program(id), trace INTEGER NOT NULL REFERENCES trace(id), measurement INTEGER NOT NULL REFERENCES measurement(id), median_ns REAL NOT NULL, origin TEXT NOT NULL, verdict INTEGER NOT NULL, checker_version INTEGER NOT NULL, isl_version TEXT NOT NULL, check_ms REAL NOT NULL, trace_text TEXT NOT NULL, nest_hash TEXT NOT NULL, status INTEGER NOT NULL, detail TEXT NOT NULL, min_ns REAL NOT NULL, ci_rel REAL NOT NULL, samples INTEGER NOT NULL, ratio REAL NOT NULL, predicted_ns REAL NOT NULL, strategy TEXT NOT NULL, seed INTEGER NOT NULL, toolchain TEXT NOT NULL, unix_time INTEGER NOT NULL, digest BLOB NOT NULL, nest TEXT NOT NULL) STRICT;
INSERT INTO "record" VALUES(1,X'1D7718F42D5EE2E45786EB293F848FFD',1,1,1,1,1001.0,'local',1,1,'isl 0.25',12.5,'trace 1
  tile C [i: 1]
','hash1',0,'',990.0,0.01,31,0.9,1100.0,'enumerate',7,'polyweft 0.1.0',1790000000,X'987FC4A933DB116A8D7AA5ED876D4F3B','nest 1 text of 1');
INSERT INTO "record" VALUES(2,X'DEFB3C0853DA7A3430CC1E605764F9CE',2,2,2,2,1002.0,'local',1,1,'isl 0.25',12.5,'trace 1
  tile C [i: 2]
','hash2',0,'',990.0,0.01,31,0.9,1100.0,'enumerate',7,'polyweft 0.1.0',1790000000,X'21A38C9A2302EC8E7FF49B66F62C1047','nest 1 text of 2');
INSERT INTO "record" VALUES(3,X'DEFB3C0853DA7A3430CC1E605764F9CE',2,2,2,3,500.0,'local',3,1,'isl 0.25',12.5,'trace 1
  tile C [i: 2]
','hash2',0,'',990.0,0.01,31,0.9,1100.0,'enumerate',7,'polyweft 0.1.0',1790000000,X'575A593727938CE0907BCE933E394225','nest 1 text of 2');
INSERT INTO "record" VALUES(4,X'542F447ED97F1B227E24C37F9F16B4D7',3,3,4,7,16.975,'local',1,1,'0.25',3.42060799999999964882e+00,'trace 1
  tile C [k: kw]
  permute C [i, k.1, k]
  accumulate C at i reg
  vectorize C k 8
decide kw = 16
','f474735559950671f63e52b11db51244',0,'',16.875,2.94550810014721246507e-03,9,0.0,153.0396322,'evolve',1,'polyweft 0.1.0 llvm 22.1.8 isl 0.25',1795453316,X'C678FB299BEFEE0C0AC0308779624D1F','nest 1 tiny class reassoc
param N = 12
loops i, l0, l1, m@4, m.v@5, m.v@6, m@7, m@8, m@9, k, k.v
buffer A: i32[12] argument align 4 values -100 .. 100 tensor 0 element [$0]
buffer B: i32[12, 12] argument align 4 values -100 .. 100 tensor 1 element [$0, $1]
buffer C: i32[12] argument align 4 output tensor 2 element [$0]
buffer C.a: i32[1, 2, 8] reg align 64 tensor 2 element [i + $0]
buffer C.r: i32[1, 8] reg align 64 tensor 2 element [i]
arguments A, B, C
body {
  seq {
    for i in 0 .. 12 {
      alloc C.a {
        for l0 in 0 .. 2 unroll {
          for l1 in 0 .. 8 vector 8 {
            compute 0(i) init sum: C.a[0, l0, l1]
          }
        }
        for k in 0 .. 2 unroll {
          for k.v in 0 .. min(8, -8*k + 12) vector 8 {
            compute 0(i, 8*k + k.v) accumulate sum: C.a[0, k, k.v] <- (A[8*k + k.v] * B[i, 8*k + k.v])
          }
        }
        alloc C.r {
          for m@4 in 0 .. 1 unroll {
            for m.v@5 in 0 .. 8 vector 8 {
              compute 0(i) merge sum: C.a[0, m@4, m.v@5] <- C.a[0, m@4 + 1, m.v@5]
            }
          }
          for m.v@6 in 0 .. 8 vector 8 {
            copy C.r[0, m.v@6] <- C.a[0, 0, m.v@6] else 0:i32
          }
          for m@7 in 0 .. 4 vector 4 {
            compute 0(i) merge sum: C.r[0, m@7] <- C.r[0, m@7 + 4]
          }
          for m@8 in 0 .. 2 vector 2 {
            compute 0(i) merge sum: C.r[0, m@8] <- C.r[0, m@8 + 2]
          }
          for m@9 in 0 .. 1 unroll {
            compute 0(i) merge sum: C.r[0, m@9] <- C.r[0, m@9 + 1]
          }
          copy C[i] <- C.r[0, 0] else 0:i32
        }
      }
    }
  }
}
');
CREATE TABLE target (id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE) STRICT;
INSERT INTO "target" VALUES(1,'x86-64/avx512f');
INSERT INTO "target" VALUES(2,'x86-64/256,avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe,popcnt,sse,sse2,sse3,sse4.1,sse4.2,ssse3');
CREATE TABLE task (id INTEGER PRIMARY KEY, binding INTEGER NOT NULL REFERENCES binding(id), target INTEGER NOT NULL REFERENCES target(id), class INTEGER NOT NULL, abi INTEGER NOT NULL, threads INTEGER NOT NULL, UNIQUE (binding, target, class, abi, threads)) STRICT;
INSERT INTO "task" VALUES(1,1,1,2,1,1);
INSERT INTO "task" VALUES(2,2,1,2,1,1);
INSERT INTO "task" VALUES(3,3,2,2,1,1);
CREATE TABLE trace (id INTEGER PRIMARY KEY, task INTEGER NOT NULL REFERENCES task(id), text TEXT NOT NULL, digest BLOB NOT NULL, UNIQUE (task, text)) STRICT;
INSERT INTO "trace" VALUES(1,1,'trace 1
  tile C [i: 1]
',X'076719E903ABC42C5128D058608BBFC8');
INSERT INTO "trace" VALUES(2,2,'trace 1
  tile C [i: 2]
',X'924DEFC85FCC107B29B0E4FDA456B878');
INSERT INTO "trace" VALUES(3,1,'trace f',X'14901C13EA40D2C8B6E0332AE2D6BCB3');
INSERT INTO "trace" VALUES(4,3,'trace 1
  tile C [k: kw]
  permute C [i, k.1, k]
  accumulate C at i reg
  vectorize C k 8
decide kw = 16
',X'6A6D7111013BB20510C2BB3399A7B8F4');
INSERT INTO "trace" VALUES(5,3,'trace 1
  tile C [k: kw]
  permute C [i, k.1, k]
  accumulate C at i reg
  vectorize C k 8
decide kw = 8
',X'C62F2E3C888B2E7FF625D78B2E6B550F');
CREATE INDEX measurement_by_trace ON measurement (trace);
CREATE INDEX record_by_key ON record (key, median_ns);
COMMIT;
PRAGMA application_id = 1347896646;
PRAGMA user_version = 5;
