"""The loss of a detector head: YOLOv5's for labelled boxes, but with ignored regions, and that for a teacher's rows.

A box is assigned to anchors at most four times larger or smaller, in its own cell and the two nearest ones; the target
of objectness is the overlap (IoU) of the predicted and the labelled box (https://github.com/ultralytics/yolov5,
release 7.0).
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from plate_nets.networks.yolov5 import Detect

DOUBTFUL = -1
"""The kind of an ignored region."""

_BOX, _OBJECT, _CLASS = 0.05, 1.0, 0.1
_BALANCE = (4.0, 1.0, 0.4)
"""Weights of the parts of the loss, and of objectness at each stride."""
_LARGEST_RATIO = 4.0
_LIKELY = 0.01
"""Minimum objectness of a teacher's row whose box and classes are learnt."""
_SMALLEST = 1e-3
"""Of a row's size before it is squared: a side of 0, as in an untrained network, has no aspect, which makes NaN."""
_NOMINAL = 640
"""Side of the picture, px, for which these weights were chosen; a larger one counts more."""


def head_loss(head: Detect, maps: Sequence[Tensor], targets: Tensor) -> Tensor:
    """The head's output at each stride, (N, 3 * values, h, w), before its sigmoid, and the targets -> its loss.

    ``targets``: (K, 6) picture, kind or `DOUBTFUL`, xmin, ymin, xmax, ymax in px of the input.
    """
    from torchvision.ops import box_iou, complete_box_iou_loss  # imported here: takes three seconds

    sure, doubtful = targets[targets[:, 1] >= 0], targets[targets[:, 1] == DOUBTFUL]
    total = maps[0].new_zeros(())
    for found, anchors, stride, balance in zip(maps, head.anchors, head.strides, _BALANCE, strict=True):
        logits = _by_row(found)
        places, boxes, kinds = _assigned(sure, anchors, stride, (found.shape[2], found.shape[3]))
        objects = torch.zeros_like(logits[..., 4])
        counts = _counted(objects, doubtful, stride)
        if len(kinds):
            picture, anchor, row, column = places
            own = logits[picture, anchor, row, column]
            cell = torch.stack((column, row), 1)
            given = _boxes(own, cell, anchors[anchor])
            total = total + _BOX * complete_box_iou_loss(given, boxes, reduction="mean")
            overlap = box_iou(given.detach(), boxes).diagonal().clamp(0)
            order = overlap.argsort()  # if a cell has several targets, the best one counts
            objects[picture[order], anchor[order], row[order], column[order]] = overlap[order]
            counts[picture, anchor, row, column] = 1
            if own.shape[1] > 6:
                classes = functional.one_hot(kinds, own.shape[1] - 5).to(own.dtype)
                total = total + _CLASS * functional.binary_cross_entropy_with_logits(own[:, 5:], classes)
        cells = objects.shape[0] * len(anchors) * (_NOMINAL / stride) ** 2
        loss = functional.binary_cross_entropy_with_logits(logits[..., 4], objects, counts, reduction="sum")
        total = total + _OBJECT * balance * loss / cells
    return total


def taught_loss(head: Detect, maps: Sequence[Tensor], taught: Sequence[Tensor]) -> Tensor:
    """The head's output at each stride, as for `head_loss`, and that of a teacher on the same pictures -> its loss.

    The objectness of each row is learnt; its box and classes as far as the teacher takes it for an object (Mehta &
    Ozturk, "Object detection at 200 frames per second", 2018).
    """
    from torchvision.ops import complete_box_iou_loss  # imported here: takes three seconds

    total = maps[0].new_zeros(())
    for found, wanted, anchors, stride, balance in zip(maps, taught, head.anchors, head.strides, _BALANCE, strict=True):
        logits, theirs = _by_row(found), _by_row(wanted)
        objects = theirs[..., 4].sigmoid()
        cells = objects.shape[0] * len(anchors) * (_NOMINAL / stride) ** 2
        loss = functional.binary_cross_entropy_with_logits(logits[..., 4], objects, reduction="sum")
        total = total + _OBJECT * balance * loss / cells
        picture, anchor, row, column = (objects > _LIKELY).nonzero(as_tuple=True)
        if len(anchor):
            own, their = (each[picture, anchor, row, column] for each in (logits, theirs))
            shares = objects[picture, anchor, row, column]
            shares = shares / shares.sum()
            cell = torch.stack((column, row), 1)
            given, boxes = (_boxes(each, cell, anchors[anchor]) for each in (own, their))
            total = total + _BOX * (shares * complete_box_iou_loss(given, boxes)).sum()
            if own.shape[1] > 6:
                classes = their[:, 5:].sigmoid()
                losses = functional.binary_cross_entropy_with_logits(own[:, 5:], classes, reduction="none")
                total = total + _CLASS * (shares * losses.mean(1)).sum()
    return total


def _by_row(output: Tensor) -> Tensor:
    """The output of a head, (N, 3 * values, h, w) -> (N, 3, h, w, values)."""
    return torch.unflatten(output, 1, (3, -1)).permute(0, 1, 3, 4, 2)


def _boxes(logits: Tensor, cells: Tensor, anchors: Tensor) -> Tensor:
    """Rows (M, values) of a head before its sigmoid, their columns and rows (M, 2), and their anchors (M, 2) in cells
    -> the boxes (M, 4) xyxy in cells."""
    middle = logits[:, :2].sigmoid() * 2 - 0.5 + cells
    half = (logits[:, 2:4].sigmoid().clamp(_SMALLEST) * 2) ** 2 * anchors / 2
    return torch.cat((middle - half, middle + half), 1)


def _assigned(
    targets: Tensor, anchors: Tensor, stride: int, hw: tuple[int, int]
) -> tuple[tuple[Tensor, Tensor, Tensor, Tensor], Tensor, Tensor]:
    """Target boxes (K, 6) -> their places in a map: pictures, anchors, rows and columns (M,) each; the boxes (M, 4)
    xyxy in cells; and their kinds (M,)."""
    boxes = targets[:, 2:] / stride
    middles, sizes = (boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]
    ratios = sizes[None] / anchors[:, None]
    anchor, number = (torch.maximum(ratios, 1 / ratios).amax(2) < _LARGEST_RATIO).nonzero(as_tuple=True)
    size = middles.new_tensor((hw[1], hw[0]))
    near = torch.tensor(((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)), device=boxes.device)
    inner = middles[number] % 1
    low, high = inner < 0.5, inner > 0.5  # the nearer side of the cell
    chosen = torch.stack((torch.ones_like(low[:, 0]), low[:, 0], high[:, 0], low[:, 1], high[:, 1]))
    step, row = chosen.nonzero(as_tuple=True)
    cells = middles[number[row]].floor().long() + near[step]
    within = ((cells >= 0) & (cells < size)).all(1)
    anchor, number, cells = anchor[row][within], number[row][within], cells[within]
    picture, kinds = targets[number, 0].long(), targets[number, 1].long()
    return (picture, anchor, cells[:, 1], cells[:, 0]), boxes[number], kinds


def _counted(objects: Tensor, doubtful: Tensor, stride: int) -> Tensor:
    """Which cells count, (N, 3, h, w), 1 or 0: all except those that touch a doubtful region."""
    counts = torch.ones_like(objects)
    low = (doubtful[:, 2:4] / stride).floor().long().clamp(min=0).tolist()
    high = (doubtful[:, 4:] / stride).ceil().long().tolist()
    for picture, (left, top), (right, bottom) in zip(doubtful[:, 0].long().tolist(), low, high, strict=True):
        counts[picture, :, top:bottom, left:right] = 0
    return counts
