#include <array>

#include "ir/explain/table.h"

namespace polyweft::explain {
namespace {

constexpr auto kGeneralEntries = std::to_array<Entry>({
    {"PW0001",
     "The file cannot be opened for reading, is a folder, a pipe or a device, or is longer than such files are. '-' is "
     "standard input."},
    {"PW0002", "A file may hold several programs; FILE:PROGRAM takes one by name, FILE alone the first."},
    {"PW0003",
     "An option with a value of its own form: -p NAME=VALUE with an integer, --input NAME=FILE.npy, --output "
     "NAME=FILE.npy."},
    {"PW0004", "The file cannot be created or written."},
    {"PW0005", "--input names inputs of the program, --output its outputs."},
    {"PW0006",
     "The array in the .npy file must have the type and the shape that the program has at the bound sizes. bf16 "
     "travels as its bits in uint16."},
    {"PW0007",
     "Codes are PW and four digits: 00 files, 01 syntax and types, 02 checks, 03 steps, 04 checker, 05 code "
     "generation, 06 lab, 07 database,\n"
     "08 limits."},
    {"PW0008",
     "The words of the command line do not fit its verbs and options. 'polyweft --help' lists the verbs, 'polyweft "
     "VERB --help' its options."},
    {"PW0009",
     "A setting that does not come from an option: environment (POLYWEFT_*), ./polyweft.toml, then the user's file. "
     "Unknown keys are refused.\n"
     "'polyweft config' prints every value with its origin."},
    {"PW0010",
     "--seeds names a folder of schedules that a search begins with: files NAME.trace as in the library "
     "(share/polyweft/library),\n"
     "each a trace and in lines that begin with '#| ' the program that it was written for."},
    {"PW0011",
     "A file of the folder that --seeds names is left out: it holds no program in lines that begin with '#| ', its "
     "program or its trace does not parse,\n"
     "or its schedule does not fit the program that is tuned, although the two have one structure. The search goes on "
     "without it."},
    {"PW0020",
     "--instructions names a folder of files NAME.instruction, as in share/polyweft/instructions. The folder cannot be "
     "read, has no such file, or has one that does not parse or has the name of another instruction: no name may mean "
     "two things."},
    {"PW0021", "A function of the C interface got NULL where its header does not say what NULL means."},
    {"PW0022",
     "An option struct of the C interface does not have its own size in struct_size, or the size of another struct."},
    {"PW0023", "A value that a function of the C interface got is outside its range; the message has the range."},
    {"PW0024",
     "An exception reached the border of the C interface: no memory, or a defect of this library. The message is the "
     "exception's own."},
});

}  // namespace

std::span<const Entry> general() {
  return kGeneralEntries;
}

}  // namespace polyweft::explain
