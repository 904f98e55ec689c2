//! Curves as pictures.

use specimen_train::curve::svg;

const CSV: &str = "step,seconds,loss,share\n50,1.0,4.0,0.5\n100,2.0,2.0,0.5\n200,4.0,3.0,0.5\n";

#[test]
fn every_quantity_has_a_panel_and_its_extremes_touch_the_frame() {
    let text = svg(CSV).unwrap();
    assert_eq!(text.matches("<polyline").count(), 2);
    // Steps 50, 100 and 200 of 200 across 540 units from 80 on; 4, 2 and 3 down 86 units from 24 on.
    assert!(text.contains("points=\"215.0,24.0 350.0,110.0 620.0,67.0\""), "{text}");
    // The second panel lies 130 lower; what never changes runs along its middle.
    assert!(text.contains("points=\"215.0,197.0 350.0,197.0 620.0,197.0\""), "{text}");
    for label in [">loss<", ">share<", ">4.0000<", ">2.0000<", ">step 200<"] {
        assert!(text.contains(label), "{label}: {text}");
    }
    assert_eq!(text, svg(CSV).unwrap());
}

#[test]
fn what_is_no_curve_is_an_error() {
    for (csv, part) in [
        ("", "a header"),
        ("step,seconds,loss\n", "at least one row"),
        ("step,seconds,loss\n1,2\n", "not 3 numbers: 1,2"),
        ("step,seconds,loss\n1,2,x\n", "not 3 numbers: 1,2,x"),
        ("step,seconds,loss\n1,2,NaN\n", "not 3 numbers"),
    ] {
        let error = format!("{:#}", svg(csv).unwrap_err());
        assert!(error.contains(part), "`{part}` is not in `{error}`");
    }
}
