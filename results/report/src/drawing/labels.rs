//! Places names beside points so that they cover neither points nor one another: of a fixed set of
//! places around each point the cheapest, looked at again until nothing moves.

/// A rectangle in figure units, `[left, top, right, bottom]`.
pub(crate) type Rect = [f64; 4];

/// What a name belongs to.
pub(crate) struct Anchor {
    /// Where the point is.
    pub(crate) at: (f64, f64),
    /// Width and height of the name.
    pub(crate) size: (f64, f64),
}

/// Distances from the point to the near edge of the name.
const DISTANCES: [f64; 6] = [13.0, 22.0, 36.0, 54.0, 78.0, 108.0];

/// A name this far off gets a line back to its point.
pub(crate) const FAR: f64 = 30.0;

/// Where a line to a name begins, from the middle of its mark, and how far before the name it ends.
const MARK_EDGE: f64 = 11.0;
const NAME_GAP: f64 = 3.0;

/// How far beyond its point a name begins or ends that is above or below it.
const SLID: f64 = 12.0;

/// What it costs that the line to a name goes through a name, a mark or another such line.
const CROSSED: f64 = 500.0;

/// What it costs that a name is nearer to another mark than to its own.
const MISLEADING: f64 = 20.0;

/// Places for all names: `obstacles` are to be kept free, `lines` better too, `bounds` is never left.
pub(crate) fn place(anchors: &[Anchor], obstacles: &[Rect], lines: &[Rect], bounds: Rect) -> Vec<Rect> {
    let mut placed: Vec<Option<Rect>> = vec![None; anchors.len()];
    for _ in 0..4 {
        let before = placed.clone();
        for (at, anchor) in anchors.iter().enumerate() {
            let others = anchors.iter().zip(&placed).enumerate().filter(|(other, _)| *other != at);
            let (their_points, others): (Vec<(f64, f64)>, Vec<Rect>) =
                others.filter_map(|(_, (anchor, rect))| Some((anchor.at, (*rect)?))).unzip();
            let over =
                |rect: &Rect, rects: &[Rect]| rects.iter().map(|other| overlap(rect, other)).sum::<f64>();
            let crossed = |rect: &Rect, rects: &[Rect]| -> f64 {
                rects.iter().map(|other| crossed_by(anchor.at, rect, other)).sum::<usize>() as f64
            };
            let mut cheapest: Option<(f64, Rect)> = None;
            for (distance, rect) in candidates(anchor, bounds) {
                let is_beaten = |least: f64| cheapest.is_some_and(|(cost, _)| cost <= least);
                // Lines are dear to follow, so what costs too much without its line is left here: no part is below 0.
                let outside = area(&rect) - overlap(&rect, &bounds);
                let near = distance + 100.0 * outside;
                if is_beaten(near) {
                    continue;
                }
                let covered =
                    20.0 * (over(&rect, obstacles) + over(&rect, &others)) + 3.0 * over(&rect, lines);
                let misleading = obstacles.iter().filter(|other| is_nearer(anchor.at, &rect, other)).count();
                let misleading = MISLEADING * misleading as f64;
                if is_beaten(near + covered + misleading) {
                    continue;
                }
                let theirs = their_points.iter().zip(&others).map(|(point, other)| {
                    crossed_by(*point, other, &rect) + usize::from(cross((anchor.at, &rect), (*point, other)))
                });
                let theirs = theirs.sum::<usize>() as f64;
                let leader = CROSSED * (crossed(&rect, obstacles) + crossed(&rect, &others) + theirs)
                    + 8.0 * crossed(&rect, lines);
                let cost = near + covered + leader + misleading;
                if !is_beaten(cost) {
                    cheapest = Some((cost, rect));
                }
            }
            placed[at] = cheapest.map(|(_, rect)| rect);
        }
        if placed == before {
            break;
        }
    }
    placed.into_iter().flatten().collect()
}

/// Heights for names beside the ends of lines: as near as they can be to where they are wanted, `apart` from one
/// another, inside `low..high` if there is room for all; same order as given.
pub(crate) fn stacked(wanted: &[f64], apart: f64, [low, high]: [f64; 2]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    // Names that would touch form a block about the mean of what they want; blocks that touch become one.
    let mut blocks: Vec<(f64, Vec<usize>)> = Vec::new();
    for at in order {
        blocks.push((wanted[at], vec![at]));
        while let [.., above, below] = blocks.as_slice() {
            let room = apart * (above.1.len() + below.1.len()) as f64 / 2.0;
            if below.0 - above.0 >= room {
                break;
            }
            let (_, last) = blocks.pop().expect("two blocks were seen");
            let (middle, members) = blocks.last_mut().expect("two blocks were seen");
            members.extend(last);
            let mean = members.iter().map(|&m| wanted[m]).sum::<f64>() / members.len() as f64;
            let half = apart * (members.len() - 1) as f64 / 2.0;
            *middle = mean.min(high - half).max(low + half);
        }
    }
    let mut heights = vec![0.0; wanted.len()];
    for (middle, members) in blocks {
        let half = apart * (members.len() - 1) as f64 / 2.0;
        let middle = middle.min(high - half).max(low + half);
        for (at, member) in members.into_iter().enumerate() {
            heights[member] = middle - half + apart * at as f64;
        }
    }
    heights
}

/// The point of a name that is nearest to what it belongs to.
pub(crate) fn nearest(at: (f64, f64), name: &Rect) -> (f64, f64) {
    (at.0.max(name[0]).min(name[2]), at.1.max(name[1]).min(name[3]))
}

/// The line from a point to its name: where it is far off, unless an interval leads there (`is_led`), and wherever another of
/// `marks` is nearer to it. It begins at the edge of the mark, or halfway to a name that is very near.
pub(crate) fn leader(at: (f64, f64), name: &Rect, marks: &[Rect], is_led: bool) -> Option<[(f64, f64); 2]> {
    let (near, away) = (nearest(at, name), distance(at, name));
    let is_misleading = marks.iter().any(|other| is_nearer(at, name, other));
    let along = |part: f64| (at.0 + (near.0 - at.0) * part, at.1 + (near.1 - at.1) * part);
    ((away > FAR && !is_led) || is_misleading).then(|| {
        let (begin, gap) = (MARK_EDGE.min(away / 2.0), NAME_GAP.min(away / 4.0));
        [along(begin / away), along(1.0 - gap / away)]
    })
}

fn distance(at: (f64, f64), name: &Rect) -> f64 {
    let near = nearest(at, name);
    (near.0 - at.0).hypot(near.1 - at.1)
}

/// Whether a name is nearer to another mark than to its own point `at`.
fn is_nearer(at: (f64, f64), name: &Rect, other: &Rect) -> bool {
    let middle = (f64::midpoint(other[0], other[2]), f64::midpoint(other[1], other[3]));
    // Marks are placed on whole units, so the own mark is less than one off.
    let is_own = (middle.0 - at.0).abs() < 1.0 && (middle.1 - at.1).abs() < 1.0;
    !is_own && distance(middle, name) < distance(at, name)
}

/// 1 if the line from a point to its name goes through a rectangle, else 0. A name that is near has no line; what the point
/// itself lies in does not count.
fn crossed_by(at: (f64, f64), name: &Rect, rect: &Rect) -> usize {
    let to = nearest(at, name);
    let (dx, dy) = (to.0 - at.0, to.1 - at.1);
    if dx.hypot(dy) <= FAR {
        return 0;
    }
    let holds = |(x, y): (f64, f64)| (rect[0]..rect[2]).contains(&x) && (rect[1]..rect[3]).contains(&y);
    let along = |part: u32| (at.0 + dx * f64::from(part) / 24.0, at.1 + dy * f64::from(part) / 24.0);
    usize::from(!holds(at) && (1..=24).any(|part| holds(along(part))))
}

/// Whether the lines from two points to their names cross; a name that is near has none.
fn cross(one: ((f64, f64), &Rect), other: ((f64, f64), &Rect)) -> bool {
    if distance(one.0, one.1) <= FAR || distance(other.0, other.1) <= FAR {
        return false;
    }
    let (a, b, c, d) = (one.0, nearest(one.0, one.1), other.0, nearest(other.0, other.1));
    // On which side of the line from `p` to `q` a point is.
    let side =
        |p: (f64, f64), q: (f64, f64), r: (f64, f64)| (q.0 - p.0) * (r.1 - p.1) - (q.1 - p.1) * (r.0 - p.0);
    side(a, b, c) * side(a, b, d) < 0.0 && side(c, d, a) * side(c, d, b) < 0.0
}

/// Every place a name may take, with what its distance costs; to the right is liked best. Above and below it may be pushed
/// aside to stay inside `bounds`, and may begin or end over its point.
fn candidates(anchor: &Anchor, bounds: Rect) -> Vec<(f64, Rect)> {
    let ((x, y), (width, height)) = (anchor.at, anchor.size);
    let mut found = Vec::new();
    for distance in DISTANCES {
        let d = distance * std::f64::consts::FRAC_1_SQRT_2;
        let (right, left) = (x + d, x - d - width);
        let (above, below) = (y - d - height, y + d);
        let inside = (x - width / 2.0).min(bounds[2] - width).max(bounds[0]);
        for (penalty, corner) in [
            (0.0, (right, above)),
            (1.0, (right, below)),
            (2.0, (left, above)),
            (3.0, (left, below)),
            (4.0, (x + distance, y - height / 2.0)),
            (5.0, (x - distance - width, y - height / 2.0)),
            (6.0, (x - width / 2.0, y - distance - height)),
            (7.0, (x - width / 2.0, y + distance)),
            (8.0, (inside, y - distance - height)),
            (9.0, (inside, y + distance)),
            (10.0, (x + SLID - width, y - distance - height)),
            (11.0, (x + SLID - width, y + distance)),
            (12.0, (x - SLID, y - distance - height)),
            (13.0, (x - SLID, y + distance)),
        ] {
            found.push((distance + penalty, [corner.0, corner.1, corner.0 + width, corner.1 + height]));
        }
    }
    found
}

/// Area that two rectangles share.
pub(crate) fn overlap(a: &Rect, b: &Rect) -> f64 {
    let width = a[2].min(b[2]) - a[0].max(b[0]);
    let height = a[3].min(b[3]) - a[1].max(b[1]);
    if width > 0.0 && height > 0.0 { width * height } else { 0.0 }
}

fn area(rect: &Rect) -> f64 {
    (rect[2] - rect[0]) * (rect[3] - rect[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crowded_names_cover_neither_points_nor_one_another() {
        let points =
            [(300.0, 300.0), (306.0, 303.0), (300.0, 310.0), (320.0, 300.0), (299.0, 299.0), (590.0, 20.0)];
        let anchors: Vec<Anchor> = points.iter().map(|&at| Anchor { at, size: (90.0, 18.0) }).collect();
        let dots: Vec<Rect> = points.iter().map(|&(x, y)| [x - 7.0, y - 7.0, x + 7.0, y + 7.0]).collect();
        let bounds = [0.0, 0.0, 600.0, 600.0];
        let placed = place(&anchors, &dots, &[], bounds);
        assert_eq!(placed.len(), points.len());
        for (at, rect) in placed.iter().enumerate() {
            assert!(dots.iter().all(|dot| overlap(rect, dot) == 0.0), "name {at} covers a point");
            assert!(placed[..at].iter().all(|other| overlap(rect, other) == 0.0), "name {at} covers a name");
            assert!((overlap(rect, &bounds) - area(rect)).abs() < 1e-9, "name {at} leaves the figure");
        }
    }

    #[test]
    fn a_lonely_name_stands_close_to_its_point() {
        let anchor = [Anchor { at: (100.0, 100.0), size: (50.0, 16.0) }];
        let [left, _, _, bottom] = place(&anchor, &[], &[], [0.0, 0.0, 300.0, 300.0])[0];
        assert!(left > 100.0 && left < 112.0 && bottom < 100.0 && bottom > 88.0);
    }

    #[test]
    fn a_name_keeps_off_lines_and_its_leader_off_other_points() {
        // A point near the left edge, an upright line where its name would stand on the right.
        let bounds = [50.0, 0.0, 600.0, 600.0];
        let anchor = [Anchor { at: (110.0, 300.0), size: (126.0, 18.0) }];
        let upright = [228.0, 0.0, 234.0, 600.0];
        let placed = place(&anchor, &[], &[upright], bounds)[0];
        assert!(overlap(&placed, &upright) == 0.0 && placed[0] >= 50.0, "{placed:?}");
        // Two points side by side: the name of the left one is not led through the right one.
        let dot = |x: f64| [x - 10.0, 290.0, x + 10.0, 310.0];
        let of_both = |name: &Rect| [110.0, 150.0].map(|x| crossed_by((110.0, 300.0), name, &dot(x)));
        assert_eq!(of_both(&[190.0, 291.0, 240.0, 309.0]), [0, 1]);
        assert_eq!(of_both(&[190.0, 200.0, 240.0, 218.0]), [0, 0]);
        assert_eq!(crossed_by((110.0, 300.0), &[125.0, 291.0, 240.0, 309.0], &dot(130.0)), 0);
    }

    #[test]
    fn lines_to_names_cross_neither_names_nor_one_another() {
        // A frontier with wide names, as a grid of two parameters has it; the other points are not named.
        let named = [
            (155, 941, 30),
            (358, 930, 83),
            (555, 867, 306),
            (597, 810, 326),
            (733, 737, 326),
            (795, 661, 345),
        ];
        let others =
            [(420, 848), (444, 856), (524, 838), (520, 775), (557, 795), (587, 762), (616, 737), (595, 628)];
        let point = |x: i32, y: i32| (f64::from(x), f64::from(y));
        let dot = |(x, y): (f64, f64)| [x - 14.0, y - 14.0, x + 14.0, y + 14.0];
        let anchors = named.map(|(x, y, wide)| Anchor { at: point(x, y), size: (f64::from(wide), 26.0) });
        let mut dots: Vec<Rect> = anchors.iter().map(|anchor| dot(anchor.at)).collect();
        dots.extend(others.map(|(x, y)| dot(point(x, y))));
        // Their intervals.
        let lines = [
            [666.0, 660.0, 971.0, 664.0],
            [793.0, 610.0, 797.0, 713.0],
            [620.0, 736.0, 884.0, 740.0],
            [731.0, 699.0, 735.0, 772.0],
            [442.0, 808.0, 775.0, 812.0],
            [595.0, 779.0, 599.0, 843.0],
            [399.0, 865.0, 699.0, 869.0],
            [553.0, 834.0, 557.0, 902.0],
        ];
        let names = place(&anchors, &dots, &lines, [96.0, 350.0, 1068.0, 985.0]);
        for (at, (anchor, name)) in anchors.iter().zip(&names).enumerate() {
            for (other_at, (other_anchor, other)) in anchors.iter().zip(&names).enumerate() {
                if at == other_at {
                    continue;
                }
                assert_eq!(crossed_by(anchor.at, name, other), 0, "{name:?} is led through {other:?}");
                assert!(!cross((anchor.at, name), (other_anchor.at, other)), "{name:?} {other:?}");
            }
        }
    }

    #[test]
    fn every_name_is_nearest_to_its_own_mark_or_a_line_joins_them() {
        // Planes of a few crowded points, as the quickstart's is, by a generator of Lehmer's.
        let mut state = 1_u64;
        let mut next = |below: f64| {
            state = state * 48_271 % 2_147_483_647;
            below * state as f64 / 2_147_483_647.0
        };
        let mut n_led = 0;
        for _ in 0..200 {
            let n = 2 + next(12.0) as usize;
            let points: Vec<(f64, f64)> = (0..n).map(|_| (100.0 + next(160.0), 100.0 + next(90.0))).collect();
            let anchors: Vec<Anchor> =
                points.iter().map(|&at| Anchor { at, size: (40.0 + next(80.0), 16.0) }).collect();
            let marks: Vec<Rect> =
                points.iter().map(|&(x, y)| [x - 10.0, y - 10.0, x + 10.0, y + 10.0]).collect();
            let names = place(&anchors, &marks, &[], [0.0, 0.0, 420.0, 300.0]);
            for (anchor, name) in anchors.iter().zip(&names) {
                let from = |mark: &(f64, f64)| distance(*mark, name);
                let is_own = points.iter().all(|other| from(other) >= from(&anchor.at));
                for is_led in [false, true] {
                    let line = leader(anchor.at, name, &marks, is_led);
                    assert!(is_own || line.is_some(), "{points:?}: {name:?} of {:?}", anchor.at);
                }
                n_led += usize::from(!is_own);
            }
        }
        assert!(n_led > 20, "{n_led} names were nearer to another mark");
    }

    #[test]
    fn a_name_that_is_nearer_to_another_mark_has_a_leader() {
        let needs_leader = |at, name: &Rect, marks: &[Rect]| leader(at, name, marks, false).is_some();
        let dot = |x: f64| [x - 10.0, 90.0, x + 10.0, 110.0];
        let marks = [dot(100.0), dot(200.0)];
        let beside = [212.0, 91.0, 260.0, 109.0];
        assert!(needs_leader((100.0, 100.0), &beside, &marks), "it is far, and beside the other");
        assert!(!needs_leader((200.0, 100.0), &beside, &marks));
        let between = [162.0, 91.0, 186.0, 109.0];
        assert!(!needs_leader((200.0, 100.0), &between, &marks));
        let near = [dot(100.0), dot(130.0)];
        assert!(
            needs_leader((100.0, 100.0), &[118.0, 112.0, 160.0, 130.0], &near),
            "near, and nearer to the other"
        );
    }

    #[test]
    fn stacked_names_keep_their_order_and_their_distance() {
        let wanted = [100.0, 102.0, 20.0, 101.0, 190.0];
        let heights = stacked(&wanted, 18.0, [10.0, 200.0]);
        let mut order: Vec<usize> = (0..wanted.len()).collect();
        order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
        assert!(order.windows(2).all(|p| heights[p[1]] - heights[p[0]] >= 18.0 - 1e-9), "{heights:?}");
        assert_eq!((heights[2], heights[4]), (20.0, 190.0));
        assert!((heights[3] - 101.0).abs() < 1e-9, "{heights:?}");
    }

    #[test]
    fn names_at_an_edge_stay_inside() {
        let heights = stacked(&[198.0, 199.0, 200.0], 20.0, [0.0, 200.0]);
        assert_eq!(heights, [160.0, 180.0, 200.0]);
        assert_eq!(stacked(&[], 20.0, [0.0, 1.0]), Vec::<f64>::new());
    }
}
