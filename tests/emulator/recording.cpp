#include "emulator/recording.h"

#include <fstream>
#include <iterator>
#include <sstream>

namespace polyweft::emulator_test {
namespace {

/// "@a:u32:6x32x4": a name, bits of a word, extents.
void read_array(const std::string& word, std::istream& in, Record& record) {
  const size_t second = word.find(':'), third = word.find(':', second + 1);
  const size_t bytes = std::stoul(word.substr(second + 2, third - second - 2)) / 8;
  RecordedArray array;
  size_t count = 1;
  std::istringstream extents(word.substr(third + 1));
  for (std::string extent; std::getline(extents, extent, 'x'); count *= static_cast<size_t>(array.extents.back()))
    array.extents.push_back(std::stoll(extent));
  std::string content(count * bytes, '\0');
  in.read(content.data(), static_cast<std::streamsize>(content.size()));
  array.words.resize(count);
  for (size_t i = 0; i < count * bytes; ++i)
    array.words[i / bytes] |= uint64_t{static_cast<unsigned char>(content[i])} << (i % bytes * 8);
  record.arrays[word.substr(1, second - 1)] = std::move(array);
}

}  // namespace

std::vector<Record> recorded(const std::string& file) {
  std::ifstream in(PW_SOURCE_DIR "/tests/gpu/recorded/" + file, std::ios::binary);
  std::string line;
  std::vector<Record> out;
  if (!std::getline(in, line) || line != "polyweft gpu record 1") return out;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string word;
    Record record;
    words >> word >> record.name;
    while (words >> word)
      if (word[0] == '@')
        read_array(word, in, record);
      else if (const size_t sign = word.find('='); sign != std::string::npos)
        record.values[word.substr(0, sign)] = word.substr(sign + 1);
    out.push_back(std::move(record));
  }
  return out;
}

}  // namespace polyweft::emulator_test
