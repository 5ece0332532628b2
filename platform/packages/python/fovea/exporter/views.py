# SPDX-License-Identifier: Apache-2.0
"""Strides. A loop is (size, stride); a dimension of a tensor is a tuple of loops, the outermost first."""
import math


def dense_dims(shape):
    """The dimensions of an array whose elements follow one another."""
    dims, stride = [], 1
    for size in reversed(shape):
        dims.append(((size, stride),) if size != 1 else ())
        stride *= size
    return tuple(reversed(dims))


def merged(loops):
    """The same loops, fewer of them: without those of one step, and with those joined that one stride serves."""
    result = []
    for size, stride in loops:
        if size == 1:
            continue
        if result and result[-1][1] == size * stride:
            result[-1] = result[-1][0] * size, stride
        else:
            result.append((size, stride))
    return result


def regrouped(loops, shape):
    """The loops as dimensions of this shape. None where one would have to be cut at a place that does not divide it."""
    loops, groups = merged(loops), []
    for size in shape:
        group = []
        while size > 1:
            if not loops:
                return None
            have, stride = loops.pop(0)
            if size % have == 0:
                group.append((have, stride))
                size //= have
            elif have % size == 0:
                group.append((size, stride * (have // size)))
                loops.insert(0, (have // size, stride))
                size = 1
            else:
                return None
        groups.append(tuple(group))
    return groups


def offset_of(dim, index):
    """The offset of an element of a dimension."""
    offset = 0
    for size, stride in reversed(dim):
        offset += index % size * stride
        index //= size
    return offset


def slice_of(dim, start, count, step):
    """The loops and the offset of some elements of a dimension; None if they are not loops."""
    size = math.prod(size for size, _ in dim)
    if start == 0 and step == 1 and count == size:
        return dim, 0
    if len(dim) <= 1:
        stride = dim[0][1] if dim else 0
        return (((count, stride * step),) if count != 1 else ()), start * stride
    inner = math.prod(size for size, _ in dim[1:])
    if step == 1 and start % inner == 0 and count % inner == 0:  # whole steps of the outermost loop
        return ((count // inner, dim[0][1]), *dim[1:]), start // inner * dim[0][1]
    return None


def joint(tensors, last=0):
    """The loops that go through some tensors of one shape together, as (size, strides), the outermost first; but for
    the last dimensions. Loops are in the order of the first tensor's memory. None where their loops do not fit."""
    result = []
    for dims in zip(*(tensor.dims[:len(tensor.dims) - last] for tensor in tensors)):
        loops = _joint_dim([[loop for loop in dim if loop[0] != 1] for dim in dims])
        if loops is None:
            return None
        result += loops
    result = sorted((loop for loop in result if loop[0] != 1), key=lambda loop: -abs(loop[1][0]))
    together = []
    for size, strides in result:
        if together and all(outer == size * stride for outer, stride in zip(together[-1][1], strides)):
            together[-1] = together[-1][0] * size, strides
        else:
            together.append((size, strides))
    return together


def _joint_dim(dims):
    """The loops of one dimension of several tensors, cut until they have the same sizes."""
    result = []
    while any(dims):
        if not all(dims):
            return None
        size = math.gcd(*(dim[-1][0] for dim in dims))
        if size == 1:
            return None
        result.insert(0, (size, tuple(dim[-1][1] for dim in dims)))
        for dim in dims:
            have, stride = dim.pop()
            if have != size:
                dim.append((have // size, stride * size))
    return result


def like(tensor, last, kept):
    """Dimensions of a new dense array: the first `kept` dimensions of the tensor, in the order that they have in its
    memory, and then the sizes `last`."""
    order = sorted((-abs(stride), axis, place, size) for axis, dim in enumerate(tensor.dims[:kept])
                   for place, (size, stride) in enumerate(dim))
    stride = math.prod(last)
    placed = {}
    for _, axis, place, size in reversed(order):
        placed[axis, place] = size, stride
        stride *= size
    dims = [tuple(placed[axis, place] for place in range(len(dim))) for axis, dim in enumerate(tensor.dims[:kept])]
    return (*dims, *dense_dims(last))


def relocated(dims, loops):
    """The dimensions of a tensor after its memory was laid out anew. loops: of the whole memory, (size, (old stride,
    new stride)). None where a dimension does not consist of them."""
    moved = []
    for dim in dims:
        rest, new = [loop for loop in reversed(dim) if loop[0] != 1], []
        while rest:
            size, stride = rest.pop(0)
            if stride == 0:
                new.insert(0, (size, 0))
                continue
            found = [(whole, old, to) for whole, (old, to) in loops if old and old <= stride < old * whole]
            if len(found) != 1 or stride % found[0][1]:
                return None
            whole, old, to = found[0]
            step = stride // old
            if step * size > whole:  # the rest of it is in another loop
                if whole % step or size % (whole // step):
                    return None
                rest.insert(0, (size // (whole // step), stride * (whole // step)))
                size = whole // step
            new.insert(0, (size, to * step))
        moved.append(tuple(new))
    return tuple(moved)
