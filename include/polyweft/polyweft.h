// Everything a program that links Polyweft needs.
#pragma once

#include "polyweft/database.h"
#include "polyweft/dsl.h"
#include "polyweft/loop_nest.h"
#include "polyweft/program.h"
#include "polyweft/records.h"
#include "polyweft/result.h"
#include "polyweft/runner.h"
#include "polyweft/target.h"
#include "polyweft/trace.h"
#include "polyweft/tuner.h"
