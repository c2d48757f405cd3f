#include "driver/storage.h"

#include <algorithm>

#include "ir/nests/workspace.h"
#include "ir/normalize/online_maximum.h"
#include "schedules/hulls.h"

namespace polyweft {
namespace {

std::string kind_of_buffer(const Buffer& buffer) {
  if (buffer.within) return "shared";
  switch (buffer.scope) {
    case Scope::argument:
      return buffer.is_packed ? "packed" : "argument";
    case Scope::constant:
      return "constant";
    case Scope::reg:
      return ir::lies_in_workspace(buffer) ? "workspace" : "registers";
    case Scope::tile:
      return "tiles";
    case Scope::scratchpad:
    case Scope::accumulator:
      return name_of(buffer.scope);
    default:
      return ir::lies_in_workspace(buffer) ? "workspace" : "stack";
  }
}

std::string layout_of(const Buffer& buffer) {
  std::string out;
  const auto& pieces = buffer.layout.pieces;
  if (pieces == row_major(folded_extents(buffer)).pieces) {
    out = "row-major";
  } else {
    for (const Piece& piece : pieces)
      out += (out.empty() ? "[d" : ", d") + std::to_string(piece.dim) + ":" + std::to_string(piece.factor);
    out += "]";
  }
  if (std::all_of(buffer.layout.pad.begin(), buffer.layout.pad.end(), [](int64_t pad) { return pad == 0; })) return out;
  for (size_t p = 0; p < buffer.layout.pad.size(); ++p)
    out += (p ? ", " : " pad [") + std::to_string(buffer.layout.pad[p]);
  return out + "]";
}

StorageBuffer row_of(const Buffer& buffer, const Program& program, const ir::Life& life) {
  StorageBuffer out;
  out.name = buffer.name;
  if (buffer.tensor < program.tensors.size()) out.tensor = program.tensors[buffer.tensor].name;
  out.kind = kind_of_buffer(buffer);
  out.type = buffer.type;
  out.extents = buffer.extents;
  out.windows.assign(buffer.extents.size(), 0);
  for (const Fold& fold : buffer.folds)
    if (fold.window < buffer.extents[fold.dim]) out.windows[fold.dim] = fold.window;
  out.layout = layout_of(buffer);
  out.first = life.first;
  out.last = life.last;
  return out;
}

/// What the equations' locals would take, one cell an element.
Result<int64_t> single_assignment_bytes(const Program& program) {
  const std::vector<Box> boxes = schedules::tensor_boxes(program);
  __int128 total = 0;
  for (TensorId id = 0; id < program.tensors.size(); ++id) {
    const Tensor& tensor = program.tensors[id];
    if (tensor.kind != TensorKind::local || tensor.name.find('.') != std::string::npos)
      continue;  // dots: normalization's own
    __int128 bytes = size_bytes(tensor.type);
    for (uint32_t d = 0; d < boxes[id].lo.size(); ++d)
      bytes = std::min<__int128>(bytes * std::max<int64_t>(boxes[id].extent(d), 0), INT64_MAX);
    total += bytes;
    if (total >= INT64_MAX)
      return fail("PW0822", program.name + ": its tensors take more bytes than 63 bits count",
                  {"choose smaller sizes"});
  }
  return static_cast<int64_t>(total);
}

std::string extents_text(const StorageBuffer& row) {
  std::string out;
  for (size_t d = 0; d < row.extents.size(); ++d) {
    out += (d ? ", " : "") + std::to_string(row.extents[d]);
    if (row.windows[d] > 0) out += " mod " + std::to_string(row.windows[d]);
  }
  return "[" + out + "]";
}

std::string place_text(const StorageBuffer& row) {
  if (!row.within.empty()) return "in " + row.within + " + " + std::to_string(row.at);
  return row.block < 0 ? "" : "block " + std::to_string(row.block) + " + " + std::to_string(row.at);
}

std::string text_of(const std::string& name, const Storage& s) {
  std::vector<std::vector<std::string>> table{
      {"buffer", "tensor", "kind", "type", "extents", "layout", "bytes", "in use", "place"}};
  for (const StorageBuffer& row : s.buffers)
    table.push_back(
        {row.name, row.tensor, row.kind, name_of(row.type), extents_text(row), row.layout, std::to_string(row.bytes),
         row.first < 0 ? "never" : std::to_string(row.first) + ".." + std::to_string(row.last), place_text(row)});
  std::vector<size_t> width(table[0].size(), 0);
  for (const auto& line : table)
    for (size_t k = 0; k < line.size(); ++k) width[k] = std::max(width[k], line[k].size());
  std::string out = "storage of " + name +
                    " (in use: from statement to statement of the nest, as `--stage loops` prints them, from 0)\n";
  for (const auto& line : table) {
    std::string text;
    for (size_t k = 0; k < line.size(); ++k) {
      const std::string blanks(width[k] - line[k].size(), ' ');
      text += (k == 6 ? blanks + line[k] : line[k] + blanks) + "  ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  }
  for (size_t k = 0; k < s.blocks.size(); ++k)
    out += "block " + std::to_string(k) + ": " + std::to_string(s.blocks[k].bytes) + " bytes, " +
           (s.blocks[k].instances == 1 ? "once a call"
                                       : "at most " + std::to_string(s.blocks[k].instances) + " tasks at once") +
           "\n";
  out += "workspace: " + std::to_string(s.workspace_bytes) +
         " bytes asked of halide_malloc by one call, alignment included\n";
  out += "in single assignment: " + std::to_string(s.single_assignment_bytes) +
         " bytes, each element of each local a cell\n";
  return out;
}

}  // namespace

Result<Storage> storage_of(const LoopNest& nest, const Program& normalized) {
  auto form = ir::with_online_maxima(normalized, nest.online);
  if (!form) return form.error();
  const Program& program = *form;
  Storage out;
  const auto lives = ir::lives_of(nest);
  auto workspace = ir::workspace_of(nest);
  if (!workspace) return workspace.error();
  auto single = single_assignment_bytes(program);
  if (!single) return single.error();
  for (BufferId id = 0; id < nest.buffers.size(); ++id) {
    out.buffers.push_back(row_of(nest.buffers[id], program, lives[id]));
    auto bytes = ir::bytes_of(nest.buffers[id]);
    if (!bytes) return bytes.error();
    out.buffers.back().bytes = *bytes;
    if (const auto& within = nest.buffers[id].within) {
      out.buffers.back().within = nest.buffers[within->host].name;
      out.buffers.back().at = within->at_bytes;
    }
  }
  for (const ir::Block& block : workspace->blocks) {
    for (const ir::Placed& placed : block.buffers) {
      out.buffers[placed.buffer].block = static_cast<int64_t>(out.blocks.size());
      out.buffers[placed.buffer].at = placed.at;
    }
    out.blocks.push_back({block.bytes, block.instances});
  }
  out.workspace_bytes = workspace->bytes;
  out.single_assignment_bytes = *single;
  out.text = text_of(nest.name, out);
  return out;
}

}  // namespace polyweft
