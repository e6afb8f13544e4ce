"""Geometry with drawn figures: ``math:Geometry-v0``.

The picture carries the numbers, so the question cannot be answered without it. Plane figures are drawn to scale,
solids are sketched. With ``pictures=False`` a text describes the figure instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem.arguments import boolean
from gem.core import Action, Info, Observation
from gem_envs_math.generated import GeneratedEnv
from gem_envs_math.geometry import circles, coordinates, polygons, solids, triangles
from gem_envs_math.problem import MIXED, SIZE, Kinds

__all__ = ["KINDS", "GeometryEnv"]

KINDS: Kinds = {
    "easy": (
        triangles.triangle_angles, triangles.triangle_area, triangles.isosceles, polygons.l_shape,
        triangles.exterior_angle, solids.box, triangles.legs_and_hypotenuse, coordinates.coordinate_distance,
    ),
    "medium": (
        triangles.right_triangle_parts, polygons.parallelogram, polygons.trapezium, polygons.rhombus,
        polygons.polygon_angles, polygons.parallel_lines, circles.sector, polygons.shaded_frame,
        coordinates.coordinate_area, coordinates.grid_slope, solids.prism, solids.cylinder,
    ),
    "hard": (
        triangles.similar, triangles.bisector, circles.chord, circles.chords, circles.angle_at_centre,
        circles.cyclic_quadrilateral, circles.tangent, solids.pyramid, solids.cone, coordinates.coordinate_area,
    ),
}  # fmt: skip


class GeometryEnv(GeneratedEnv):
    """Geometry problems.

    The observation is a list of content parts, the text and the picture; without pictures it is text. A row holds
    ``figure`` (the drawing) and ``facts`` (the same in words) as well.

    Args:
        pictures: draw the figures; otherwise describe them.
        level: as in :class:`gem_envs_math.generated.GeneratedEnv`, like all further arguments.
        split: the same.
        size: the same.
        seed: the same.
        shuffle: the same.
        use_format_error_reward: the same.
    """

    name = "Geometry"
    kinds = KINDS

    def __init__(
        self,
        pictures: bool = True,
        level: str = MIXED,
        split: str = "train",
        size: int = SIZE,
        seed: int | None = None,
        shuffle: bool = True,
        use_format_error_reward: bool = False,
    ) -> None:
        self.pictures = boolean("pictures", pictures)
        super().__init__(level, split, size, seed, shuffle, use_format_error_reward)

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, Info]:
        last, reward, terminated, truncated, info = super().step(action)
        if self.pictures:
            from gem_envs_math.pictures import in_parts

            last = in_parts(str(last))
        return last, reward, terminated, truncated, info

    def question(self, row: Mapping[str, Any]) -> Observation:
        if not self.pictures:
            return self.with_format(f"{row['facts']} {row['problem']}")
        from gem_envs_math.geometry.drawing import draw
        from gem_envs_math.pictures import picture_part

        text = self.with_format(f"Look at the figure. {row['problem']}")
        return [{"type": "text", "text": text}, picture_part(draw(row["figure"]))]
