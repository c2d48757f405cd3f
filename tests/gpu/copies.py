"""What copies through the tensor map move where: tiles and images to boxes of shared memory, and back."""

import itertools

import fragments


class Tile:
    """A tensor map with the coordinates of one copy. Dimension 0 is the innermost; strides are bytes of dimensions 1
    and up."""

    def __init__(self, size, extents, strides, box, element_strides, swizzle, at):
        self.size, self.extents, self.strides = size, extents, [size, *strides]
        self.box, self.element_strides, self.swizzle, self.at = box, element_strides, swizzle, at

    def counts(self):
        """Elements of the box along each dimension. The innermost has no stride."""
        steps = [1, *self.element_strides[1:]]
        return [-(-extent // step) for extent, step in zip(self.box, steps)]

    def faults(self, writes):
        """Hopper stops with an illegal instruction where the copy does not begin at a multiple of 16 bytes of the
        innermost dimension, or writes from a negative coordinate on."""
        return self.at[0] * self.size % 16 != 0 or (writes and min(self.at) < 0)

    def elements(self):
        """(byte in shared memory from the box's begin, byte in global memory or None where out of bounds). Boxes lie
        dense, with rows of their own width or of the swizzle's span where that is wider."""
        counts = self.counts()
        for index in itertools.product(*(range(count) for count in reversed(counts))):
            place = list(reversed(index))
            coordinates = [
                at + i * (step if dimension else 1)
                for dimension, (at, i, step) in enumerate(zip(self.at, place, self.element_strides))
            ]
            yield self.shared_byte(place, counts), self.global_byte(coordinates)

    def shared_byte(self, place, counts):
        row = 0
        for i, count in zip(reversed(place[1:]), reversed(counts[1:])):
            row = row * count + i
        return row * self.row_bytes() + place[0] * self.size

    def row_bytes(self):
        return max(self.box[0] * self.size, self.swizzle)

    def global_byte(self, coordinates):
        if any(not 0 <= c < extent for c, extent in zip(coordinates, self.extents)):
            return None
        return sum(c * stride for c, stride in zip(coordinates, self.strides))

    def swizzled(self, shared_address):
        return fragments.swizzled(shared_address, self.swizzle)


class Image(Tile):
    """im2col: dimension 0 holds channels, the last one images, those between them space. `lower` and `upper` move the
    corners of the box of first taps within the image; offsets choose the tap."""

    def __init__(self, size, extents, strides, element_strides, swizzle, at, window):
        super().__init__(size, extents, strides, [window["channels"]], element_strides, swizzle, at)
        self.window = window

    def pixels(self):
        """Coordinates of space and image of the pixels, in order: the innermost dimension first, from `at` on."""
        lower, upper, steps = self.window["lower"], self.window["upper"], self.element_strides[1:-1]
        last = [extent - 1 + corner for extent, corner in zip(self.extents[1:-1], upper)]
        space, image = list(self.at[1:-1]), self.at[-1]
        for _ in range(self.window["pixels"]):
            yield space, image
            space = list(space)
            for dimension, step in enumerate(steps):
                space[dimension] += step
                if space[dimension] <= last[dimension]:
                    break
                space[dimension] = lower[dimension]
            else:
                image += 1

    def elements(self):
        for number, (space, image) in enumerate(self.pixels()):
            tap = [s + offset for s, offset in zip(space, self.window["offsets"])]
            for channel in range(self.window["channels"]):
                yield (
                    number * self.row_bytes() + channel * self.size,
                    self.global_byte([self.at[0] + channel, *tap, image]),
                )
