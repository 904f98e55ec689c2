//! A paper's values above, a run's below.

use crate::fixture;

use specimen_report::{DrawnFigure, PrintedPlane, PrintedPoint, Style, printed_figure};

fn plane() -> PrintedPlane {
    let point = |cell: &str, printed: [f64; 2], ours: [f64; 2]| PrintedPoint {
        cell: cell.to_owned(),
        printed: printed.map(Some),
        ours: [Some((ours[0], Some([ours[0] - 0.5, ours[0] + 0.5]))), Some((ours[1], None))],
    };
    PrintedPlane {
        name: "table1".to_owned(),
        title: "Table 1".to_owned(),
        source: "as printed".to_owned(),
        x_names: ["speedup as printed", "speedup here"].map(str::to_owned),
        y_names: ["FID as printed", "fd-scenes here"].map(str::to_owned),
        points: vec![point("ar", [1.0, 40.5], [1.0, 9.0]), point("sjd", [1.75, 41.0], [1.25, 9.5])],
    }
}

fn drawn(plane: &PrintedPlane) -> Result<DrawnFigure, String> {
    printed_figure(plane, &fixture::summary(), &Style::SCREEN).unwrap()
}

#[test]
fn both_planes_are_drawn_and_one_value_moves_one_point() {
    let before = drawn(&plane()).unwrap();
    for words in ["speedup as printed", "fd-scenes here", "above: the paper, as printed; below: ours"] {
        assert!(before.svg.contains(words), "{words}: {}", before.svg);
    }
    assert!(before.caption.contains("Example CPU 8481"), "{}", before.caption);
    let mut moved = plane();
    moved.points[1].ours[1] = Some((11.0, None));
    assert_ne!(drawn(&moved).unwrap().svg, before.svg);
}

#[test]
fn fewer_than_two_values_on_a_side_are_no_picture() {
    let mut bare = plane();
    bare.points[0].ours[1] = None;
    let why = drawn(&bare).unwrap_err();
    assert_eq!(why, "2 rows have printed values for both axes and 1 have ours; two are needed");
}

#[test]
fn the_data_have_every_value_once_and_nothing_where_there_is_none() {
    let mut plane = plane();
    plane.points.push(PrintedPoint { printed: [None, Some(41.0)], ..plane.points[1].clone() });
    let text = drawn(&plane).unwrap().csv;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[1], "ar,1,40.5,1,0.5,1.5,9,,");
    assert_eq!(lines[3], "sjd,,41,1.25,0.75,1.75,9.5,,");
}
