//! Signed distances of the four shapes, in units of an object's radius.
//!
//! Squares, triangles and stars are polygons with literal vertices (no trigonometry). Their sizes are
//! chosen so that at one radius all shapes look about equally large, and none reaches beyond 1.1 radii.

use super::attributes::Shape;

/// Half the side of the square: about the area of the circle.
const SQUARE: [(f32, f32); 4] = [(-0.86, -0.86), (0.86, -0.86), (0.86, 0.86), (-0.86, 0.86)];

/// Equilateral, circumradius 1.2, moved down by 0.25 to centre its extent.
const TRIANGLE: [(f32, f32); 3] = [(0.0, -0.95), (1.039_23, 0.85), (-1.039_23, 0.85)];

/// Five points, outer radius 1.15, inner radius 0.45 of it, moved down by 0.1.
const STAR: [(f32, f32); 10] = [
    (0.0, -1.05),
    (0.304_179, -0.318_666),
    (1.093_715, -0.255_370),
    (0.492_172, 0.259_916),
    (0.675_953, 1.030_37),
    (0.0, 0.617_500),
    (-0.675_953, 1.030_37),
    (-0.492_172, 0.259_916),
    (-1.093_715, -0.255_370),
    (-0.304_179, -0.318_666),
];

/// Signed distance from `(x, y)` to the outline, negative inside; the object's centre is the origin and
/// its radius the unit.
pub(super) fn signed_distance(shape: Shape, x: f32, y: f32) -> f32 {
    match shape {
        Shape::Circle => (x * x + y * y).sqrt() - 1.0,
        Shape::Square => polygon(&SQUARE, x, y),
        Shape::Triangle => polygon(&TRIANGLE, x, y),
        Shape::Star => polygon(&STAR, x, y),
    }
}

fn polygon(vertices: &[(f32, f32)], x: f32, y: f32) -> f32 {
    let mut nearest = f32::INFINITY;
    let mut inside = false;
    let mut from = vertices[vertices.len() - 1];
    for &to in vertices {
        nearest = nearest.min(squared_distance_to_segment(from, to, x, y));
        // A ray to the right crosses an odd number of edges from inside.
        if (from.1 > y) != (to.1 > y) && x < from.0 + (to.0 - from.0) * (y - from.1) / (to.1 - from.1) {
            inside = !inside;
        }
        from = to;
    }
    if inside { -nearest.sqrt() } else { nearest.sqrt() }
}

fn squared_distance_to_segment(from: (f32, f32), to: (f32, f32), x: f32, y: f32) -> f32 {
    let (edge_x, edge_y) = (to.0 - from.0, to.1 - from.1);
    let (to_x, to_y) = (x - from.0, y - from.1);
    let along = ((to_x * edge_x + to_y * edge_y) / (edge_x * edge_x + edge_y * edge_y)).clamp(0.0, 1.0);
    let (gap_x, gap_y) = (to_x - along * edge_x, to_y - along * edge_y);
    gap_x * gap_x + gap_y * gap_y
}

#[cfg(test)]
mod tests {
    use super::{Shape, signed_distance};

    #[test]
    fn distances_are_negative_inside_zero_on_and_positive_outside_the_outline() {
        for shape in Shape::ALL {
            assert!(signed_distance(shape, 0.0, 0.1) < -0.3, "{shape:?} contains its centre");
            assert!(signed_distance(shape, 0.0, -1.2) > 0.1, "{shape:?} ends below 1.2 radii");
            assert!(signed_distance(shape, 1.2, 0.0) > 0.1, "{shape:?} ends before 1.2 radii");
        }
        assert!((signed_distance(Shape::Square, 0.0, -1.0) - 0.14).abs() < 1e-6);
        assert!((signed_distance(Shape::Square, 0.0, 0.0) + 0.86).abs() < 1e-6);
        assert!(signed_distance(Shape::Triangle, 0.0, 0.85).abs() < 1e-6);
        assert!(signed_distance(Shape::Circle, 0.6, 0.8).abs() < 1e-6);
        assert!(signed_distance(Shape::Star, 0.0, -1.05).abs() < 1e-6);
    }

    #[test]
    fn between_two_points_a_star_is_notched() {
        // The notch between the top and the upper right point lies 0.5175 from the star's own centre.
        assert!(signed_distance(Shape::Star, 0.304_2, -0.318_7).abs() < 1e-3);
        assert!(signed_distance(Shape::Star, 0.45, -0.55) > 0.05);
    }
}
