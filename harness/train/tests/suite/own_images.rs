//! Images of the target's own: drawn by its guided distribution, whatever way the drawing was cut.

use specimen_datasets::scenes::NULL_ID;
use specimen_models::seam::backbone::Backbone;
use specimen_train::{
    corpus::StepDraws,
    own_images::{CaptionedRows, DrawnFrom, OwnImages},
};
use tch::{Kind, Tensor, no_grad};

use crate::support::{N_TOKENS, target};

const SEED: u64 = 9;
const GUIDANCE: f64 = 2.5;

fn images(n: u64, file: &std::path::Path) -> CaptionedRows {
    drawn(n, GUIDANCE, "weights", SEED, 100, file).unwrap()
}

fn drawn(
    n: u64,
    guidance: f64,
    weights: &str,
    seed: u64,
    n_scenes: u64,
    file: &std::path::Path,
) -> anyhow::Result<CaptionedRows> {
    let own = OwnImages { n_validation: 1, guidance };
    own.of(&DrawnFrom { target: &target(), weights, seed, n_scenes }, n - 1, file)
}

#[test]
fn images_that_were_drawn_from_something_else_are_refused_by_the_name_of_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("images.safetensors");
    images(2, &file);
    let others = [
        drawn(2, 3.0, "weights", SEED, 100, &file),
        drawn(2, GUIDANCE, "other weights", SEED, 100, &file),
        drawn(2, GUIDANCE, "weights", SEED + 1, 100, &file),
        drawn(2, GUIDANCE, "weights", SEED, 101, &file),
    ];
    for refused in others {
        let message = refused.map(|_| ()).unwrap_err().to_string();
        for part in ["images.safetensors", "target weights, seed 9, 100 scenes, guidance 2.5", "expected"] {
            assert!(message.contains(part), "{message}");
        }
    }
    assert_eq!(images(2, &file).len(), 2);
}

fn all(rows: &CaptionedRows) -> (Tensor, Tensor) {
    rows.batches(0, rows.len(), rows.len()).next().unwrap()
}

#[test]
fn images_do_not_depend_on_how_the_drawing_was_cut() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let whole = images(70, &file("whole.safetensors"));
    assert_eq!(images(20, &file("parts.safetensors")).len(), 20);
    let resumed = images(70, &file("parts.safetensors"));
    assert_eq!((whole.len(), all(&whole)), (70, all(&resumed)));
    let read = images(70, &file("whole.safetensors"));
    assert_eq!(all(&whole), all(&read));
}

#[test]
fn a_damaged_file_of_images_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("images.safetensors");
    std::fs::write(&file, [1; 20]).unwrap();
    let error = drawn(2, GUIDANCE, "weights", SEED, 100, &file).map(|_| ()).unwrap_err();
    assert!(format!("{error:#}").contains("images.safetensors"), "{error:#}");
}

#[test]
fn every_token_is_where_its_draw_meets_the_guided_distribution() {
    let folder = tempfile::tempdir().unwrap();
    let rows = images(32, &folder.path().join("images.safetensors"));
    let (tokens, captions) = all(&rows);
    no_grad(|| {
        let target = target();
        let null = captions.full_like(i64::from(NULL_ID));
        let logits = target
            .logits(&target.features(&Tensor::cat(&[&captions, &null], 0), &tokens.repeat([2, 1])))
            .to_kind(Kind::Double);
        let (caption, null) = (logits.narrow(0, 0, 32), logits.narrow(0, 32, 32));
        let cumulated =
            (&null + (caption - &null) * GUIDANCE).softmax(-1, None::<Kind>).cumsum(-1, None::<Kind>);
        let mut draws = StepDraws::new(SEED, 0);
        for position in 0..N_TOKENS {
            for image in 0..32 {
                let (u, token) = (draws.uniform(), tokens.int64_value(&[image, position]));
                let until = |token: i64| cumulated.double_value(&[image, position, token]);
                let below = if token == 0 { 0.0 } else { until(token - 1) };
                assert!(below - 1e-5 <= u && u <= until(token) + 1e-5, "{below} {u} {}", until(token));
            }
        }
    });
}
