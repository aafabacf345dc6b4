"""Which plates of a picture count."""

from pathlib import Path

import pytest

from plate_nets.cameras.cameras_file import WatchPlan
from plate_nets.cameras.regions import Polygon, Regions, crosses_itself
from plate_nets.cameras.settings import CameraSettings
from plate_nets.cameras.watch_lists import WatchList
from plate_nets.cameras.zones import Zone
from tests.unit.cameras.traffic import plate

SIZE = (720, 1280)
LEFT = (((0.0, 0.0), (0.5, 0.0), (0.5, 1.0), (0.0, 1.0)),)


def test_plates_count_inside_regions_outside_masks_and_above_a_height() -> None:
    left, right, low = plate("A123BC77", 300), plate("X900KO99", 900), plate("A123BC77", 300, height=8)
    assert Regions().select([left, right, low], SIZE) == [left, right, low]
    assert Regions(include=LEFT).select([left, right], SIZE) == [left]
    assert Regions(masks=LEFT).select([left, right], SIZE) == [right]
    assert Regions(least_height=10).select([left, low], SIZE) == [left]


@pytest.mark.parametrize(("x", "y"), [(52, 300), (1228, 300), (300, 12), (300, 708)])
def test_a_plate_cut_by_the_edge_is_tracked_but_not_read(x: float, y: float) -> None:
    (found,) = Regions().select([plate("A123BC77", x, y)], SIZE)
    assert found.logits is None and found.box == plate("A123BC77", x, y).box


@pytest.mark.parametrize(
    ("polygon", "crosses"),
    [
        (LEFT[0], False),
        ((*LEFT[0], LEFT[0][0]), False),  # closed by hand
        (((0, 0), (0, 0), (1, 0), (1, 1)), False),
        (((0, 0), (1, 0), (0.5, 0.5), (1, 1), (0, 1)), False),  # not convex
        (((0, 0), (1, 1), (1, 0), (0, 1)), True),
        (((0, 0), (1, 0), (1, 1), (0.5, -1)), True),
    ],
)
def test_a_polygon_that_crosses_itself_is_recognized(polygon: Polygon, crosses: bool) -> None:
    assert crosses_itself(polygon) == crosses_itself(polygon[::-1]) == crosses


def test_sinks_know_zones_and_lists_by_name(tmp_path: Path) -> None:
    cameras = (
        CameraSettings("a.mp4", id="gate", include=(Zone("drive", LEFT[0]), LEFT[0])),
        CameraSettings("b.mp4"),
    )
    site = WatchPlan(cameras, pictures=tmp_path).site(dict, [WatchList("staff", {})])
    assert (site.zones, site.lists, site.pictures) == ({"gate": ["drive"], "b": []}, ["staff"], tmp_path)
    assert cameras[0].included == (LEFT[0], LEFT[0])
