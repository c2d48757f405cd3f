#include <array>

#include "ir/explain/table.h"

namespace polyweft::explain {
namespace {

constexpr auto kSyntaxEntries = std::to_array<Entry>({
    {"PW0101",
     "A character that the language does not have. Source text is UTF-8, and outside comments only ASCII: letters, "
     "digits,\n"
     "'_' and ( ) [ ] , : = + - * / % < > & | ^ ~ with the words of two characters == != <= >= << >> // and '..'."},
    {"PW0102",
     "The text does not follow the grammar at this place: the message names what may stand there and what was found.\n"
     "After such an error the parser goes on at the next 'in', 'const', 'combine', 'let', 'out' or 'program'."},
    {"PW0103",
     "A number is digits ('_' may separate them), 0x and hexadecimal digits, or digits '.' digits with an optional\n"
     "exponent: 3, 1_000, 0x1f, 0.5, 1e-5. '0.' and '.5' are not numbers, because '..' separates the ends of a range."},
    {"PW0104",
     "& ^ | stand on one level without precedence between them: a & b | c could mean two things, so write "
     "parentheses."},
    {"PW0105",
     "Keywords, types and the names of predeclared functions are reserved; no parameter, tensor or index may have such "
     "a name."},
    {"PW0106", "~ applies to one operand: write ~(sum[..] ..)."},
    {"PW0107",
     "Only the predeclared functions exist (exp log tanh sqrt rsqrt erf pow sigmoid sin cos floor ceil round abs min "
     "max\n"
     "select clamp sat_T and conversions to a type); version 1 has no functions of your own. Elements are read with [ "
     "]."},
    {"PW0108", "The name is not a parameter, constant, tensor or combiner of this program, nor an index in scope."},
    {"PW0109",
     "The body of a reduction is one product, as on paper: sum[k: K] A[k] + B[k] is (sum[k: K] A[k]) + B[k], and k is "
     "not\n"
     "known in B[k]. Put the whole sum in parentheses: sum[k: K] (A[k] + B[k])."},
    {"PW0110",
     "One program has one name space for parameters, constants, tensors and combiners, and a file one for its "
     "programs;\n"
     "a name is declared once. Several equations of one tensor are no second declaration."},
    {"PW0111",
     "An index may hide neither a name of the program nor an index in scope, so that a reader never has to ask which "
     "is meant.\n"
     "Two reductions side by side may use the same index."},
    {"PW0112", "A tensor is read and defined with one subscript for each of its dimensions; a scalar with none."},
    {"PW0113",
     "Affine means: sums of multiples of indices and parameters by constants, and floor divisions and remainders by "
     "positive\n"
     "constants. Products of two indices are not, and nothing can be decided about them exactly."},
    {"PW0114",
     "A symbolic parameter may be added, not multiplied with an index and not divided by. Where its value is fixed for "
     "the\n"
     "program (a stride, a kernel size, a group size) declare it 'const': it is replaced by its value before any "
     "check."},
    {"PW0115",
     "A guard decides where something exists, hence it may use indices and parameters only. To choose between two "
     "values by\n"
     "data, use select(condition, a, b): both values are computed everywhere."},
    {"PW0116",
     "Ranges, shapes, slots and guards are affine in indices and parameters: sums of multiples by constants, // and % "
     "by\n"
     "positive constants, clamp of such forms."},
    {"PW0117",
     "A subscript that is data must provably stay inside: an element of an input declared 'values lo..hi', clamp(e, "
     "lo, hi), or\n"
     "e % n with a positive n; or one of these plus an affine form. Narrow types keep themselves inside: a u8 lies in "
     "0..256."},
    {"PW0118",
     "There are no implicit conversions, except that a literal takes the type of the other operand. Write the "
     "conversion, e.g.\n"
     "f32(x): then it is visible in which type a product or a sum is computed."},
    {"PW0119",
     "The operator or function does not exist for this type: arithmetic is for numbers, & | ^ ~ << >> for integers, "
     "and or not for\n"
     "bool, exp .. sigmoid for floats."},
    {"PW0120",
     "-p NAME=VALUE binds a symbolic parameter to a value that the assumptions allow. A const parameter is part of the "
     "program;\n"
     "to change it, change the text."},
    {"PW0121",
     "A literal is rounded once from its decimal to its type. An integer type takes only whole numbers in its range, a "
     "float type\n"
     "nothing above its largest value (write inf)."},
    {"PW0122",
     "Literals have no type of their own: 'let x[i: N] = 0' leaves it open. Annotate the tensor, 'let x[i: N]: f32 = "
     "0', or write\n"
     "a conversion, f32(0)."},
    {"PW0123", "All equations of a tensor have one type; annotate one of them, or all alike."},
    {"PW0124",
     "A tensor is an input, or defined by 'let', by 'out' or by 'out partial'; all its equations say the same."},
    {"PW0125",
     "Parameters are at least 1 unless 'assume NAME >= ..' says otherwise, and the default sizes must meet every "
     "assumption."},
    {"PW0126",
     "Several values at once exist only as the right-hand side of an equation with several names, 'let (m, s)[i: N] = "
     "..': a\n"
     "tuple, a reduction with a combiner of several components, or argmax and argmin over several indices."},
    {"PW0127",
     "combine f((a, b), (c, d)): (T, U) from (e0, e1) = (.., ..): as many parameters on either side as types and "
     "identities. Its\n"
     "body uses its own parameters and scalar constants only, and holds no reduction."},
    {"PW0128", "Each predeclared function takes a fixed number of arguments; max and min take two."},
    {"PW0129",
     "The value of a constant is a number or nested lists that match its shape, and its shape is made of numbers."},
    {"PW0130",
     "'values lo..hi' promises that all elements of an input lie in that range; it is checked when the kernel is "
     "called. Of integers hi does not belong\n"
     "to it and both may use parameters; of floats both are numbers and belong to it."},
    {"PW0131", "/ divides floats. Integers have // (floor) and % (0 <= x % c < c for c > 0)."},
    {"PW0132", "Write the comparison that you mean, x != 0."},
    {"PW0133",
     "Inside a subscript that depends on data all integers are exact: sums and products there do not wrap. They are "
     "computed in 64 or 128 bits, as the\n"
     "ranges of types, promises and sizes ask for; a part that may need more is refused. Promise what the data are, "
     "'in X: i64[N] values 0..1000', or\n"
     "take a factor modulo n before it is multiplied, or write i64(..) around a part that may wrap."},
    {"PW0134", "There is no operator for powers. A product, x * x, is exact where it can be; pow(x, y) takes floats."},
    {"PW0140", "An input or constant that no equation reads. It stays an argument of the kernel."},
    {"PW0141", "A 'let' that no equation reads is not computed."},
    {"PW0150",
     "A ProgramBuilder was misused: a name that is no name, an index without a range, a constant with too few values."},
    {"PW0160",
     "The inputs are one dense tensor for each 'in' of the program, in order, with the types and extents that the "
     "program states."},
    {"PW0161",
     "An input declared 'values lo..hi' holds an element outside that range, so that a read through it would leave its "
     "tensor."},
    {"PW0162", "An element was read that no equation defines; 'polyweft check' finds such reads before anything runs."},
    {"PW0163", "An element needs its own value. The message lists the reads that lead back to it."},
    {"PW0170",
     "The file is not an .npy array of version 1 or 2, little-endian, C order, of the type and size that are wanted. "
     "bf16 is its 16\n"
     "bits as <u2, bool is |b1."},
    {"PW0171", "The .npy file cannot be read."},
    {"PW0172", "The .npy file cannot be written."},
});

}  // namespace

std::span<const Entry> syntax_and_types() {
  return kSyntaxEntries;
}

}  // namespace polyweft::explain
