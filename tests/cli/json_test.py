"""Every line of --json, of every verb, is what the installed schema of its name says, and the schema says all of it."""

import json
import pathlib
import unittest

import jsonschema

from fixture import SMALL, SOURCE, CliTest

SCHEMAS = {
    path.name[: -len("-1.json")]: json.loads(path.read_text())
    for path in pathlib.Path(SOURCE, "docs/schemas").glob("*.json")
}


def closed(schema):
    """The schema without room for fields that it does not name."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    out = {key: closed(value) for key, value in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        out["additionalProperties"] = False
    return out


class Json(CliTest):
    def check(self, *words, exit_code=0):
        lines = self.json_lines(*words, exit_code=exit_code)
        self.assertTrue(lines, words)
        for line in lines:
            name, version = line["schema"].rsplit("/", 1)
            self.assertEqual(version, "1")
            jsonschema.Draft202012Validator(closed(SCHEMAS[name])).validate(line)
            self.seen.add((name, line["event"]))
        return lines

    def test_every_verb_keeps_to_its_schema(self):
        self.seen = set()
        small, bad = self.small(), self.file("bad.weft", SMALL.replace("sum", "sun"))
        unused = self.file("unused.weft", SMALL.replace("out C", "in  D: f32[N]\nout C"))
        outside = self.file("outside.weft", SMALL.replace("B[k, j]", "B[k+1, j]"))
        self.check("check", small)
        self.check("check", unused)
        self.check("check", outside, exit_code=2)
        self.check("check", bad, exit_code=2)
        self.check("tune", small, "--trials", "3")
        self.check("tune", small, "--trials", "3")
        self.check("tune", small, "--trials", "5")
        self.check("tune", small, "--budget", "0")
        self.check("tune", small, "--schedule", self.file("base.trace", "trace 1\n"))
        self.check("tune", small, "--propose", "1", "-o", "work")
        self.check("measure", "work")
        self.check("measure", "work.results", exit_code=3)
        self.check("tune", "--observe", "work")
        self.check("run", small, "--verify")
        self.check("run", small)
        self.check("build", small, "-o", self.folder / "small.o", "--timings")
        self.check("tune", small, "--trials", "1", "--timings")
        self.check("bench", small, "--milliseconds", "20", "--against", "record:1")
        self.check("show", small, "--stage", "trace")
        self.check("show", small, "--stage", "storage")
        self.check("show", small, "--stage", "vectors", "--after", "split_loops")
        self.check("show", small, "--stage", "dependences")
        self.check("show", small, "--schedule", self.file("base.trace", "trace 1\n"))
        self.check("show", small, "--stage", "assembly")
        self.check("show", "1", "--stage", "assembly")
        self.check("show", "1")
        self.check("explain", "PW0204")
        self.check("explain", "1")
        self.check("explain", "1", "--why-not", "fuse")
        self.check("explain", "1", "--why-not", "parallel C k")
        self.check("db", "stats")
        self.check("db", "list")
        self.check("db", "verify")
        self.check("db", "probe")
        self.check("db", "hosts")
        exported = self.check("db", "export")
        self.check("db", "delete", "1")
        self.check(
            "db",
            "import",
            self.file("records.jsonl", "".join(json.dumps(line) + "\n" for line in exported) + "no record\n"),
            exit_code=1,
        )
        self.succeeds("tune", small, "--trials", "1", "--target", "x86-64", "--database", "v3.db")
        self.succeeds("db", "export", "--database", "v3.db", "-o", "v3.jsonl")
        self.check("db", "import", "v3.jsonl")
        self.check("targets")
        self.check("targets", "x86-64-v3")
        self.check("targets", "--probe")
        self.check("config")
        self.check("tune", small, "--bogus", exit_code=2)
        self.check("show", "99", exit_code=1)
        every = {
            (name, event["properties"]["event"]["const"])
            for name, schema in SCHEMAS.items()
            for event in schema["oneOf"]
        }
        self.assertEqual(every - self.seen, {("polyweft.db.verify", "problem")})

    def test_schemas_are_schemas(self):
        for name, schema in SCHEMAS.items():
            jsonschema.Draft202012Validator.check_schema(schema)
            self.assertEqual(schema["title"], f"{name}/1")


if __name__ == "__main__":
    unittest.main()
