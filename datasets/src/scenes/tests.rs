//! What holds for every scene, how often things occur, and golden bytes.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use super::{
    Attributes, CAPTION_LEN, CaptionError, Colour, GRID, Ground, N_LOGITS, PATCH, Relation, SIDE, Scene,
    Shape, Size, Sky, TRAIN_SEED, VAL_SEED, Vocabulary, WORDS, parse_caption, sheet,
};

const N_SCENES: u64 = 2000;

fn scenes() -> impl Iterator<Item = Scene> {
    (0..N_SCENES).map(|index| Scene::new(VAL_SEED, index))
}

#[test]
fn equal_seed_and_index_give_equal_scenes_and_anything_else_does_not() {
    let scene = Scene::new(TRAIN_SEED, 5);
    assert_eq!(scene, Scene::new(TRAIN_SEED, 5));
    assert_eq!(scene.render(), Scene::new(TRAIN_SEED, 5).render());
    assert_ne!(scene.render(), Scene::new(VAL_SEED, 5).render());
    assert_ne!(scene.render(), Scene::new(TRAIN_SEED, 6).render());
    assert_eq!(scene.id(), "5");
}

#[test]
fn the_first_scenes_have_golden_pixels() {
    for (seed, golden) in [(TRAIN_SEED, GOLDEN_TRAIN), (VAL_SEED, GOLDEN_VAL)] {
        let found: Vec<String> = (0..8)
            .map(|index| blake3::hash(&Scene::new(seed, index).render()).to_hex()[..16].to_owned())
            .collect();
        assert_eq!(found, golden, "seed {seed}");
    }
}

/// First 16 hexadecimal digits of the BLAKE3 digest of scenes 0 to 7 of the training seed. Committed
/// weights are trained on these pixels: a changed digest means retraining, not a new table.
const GOLDEN_TRAIN: [&str; 8] = [
    "ba2cab51314af6b2",
    "7fe1df85224d4743",
    "6b5def0d801e9af0",
    "9cd1d2f4aedf84d6",
    "43de377b6baa62d2",
    "9123c7f83742267a",
    "8670dc8342723ac5",
    "014df74da7c44976",
];

/// As [`GOLDEN_TRAIN`], of the validation seed.
const GOLDEN_VAL: [&str; 8] = [
    "88cc3239181d8516",
    "bde1acc7856eb31d",
    "792a35fd09441e69",
    "6354089798a4d71c",
    "485c6d0ca7eb3ec5",
    "0c56cb6b9f278e8c",
    "1778f7a00c95b71a",
    "08a489193e8bb9bb",
];

#[test]
fn the_first_scenes_have_golden_captions() {
    let found: Vec<String> = (0..8).map(|index| Scene::new(TRAIN_SEED, index).caption()).collect();
    assert_eq!(found, GOLDEN_CAPTIONS);
}

const GOLDEN_CAPTIONS: [&str; 8] = [
    "a large purple square left of a small cyan triangle by a brick wall at night",
    "a purple star , a red triangle and a cyan triangle on sand at sunset",
    "a large cyan star right of a small blue star on water at night",
    "a large purple triangle on gravel under a blue sky",
    "a large orange triangle on gravel on a cloudy day",
    "a small pink star by a brick wall at night",
    "a large green square on grass at night",
    "a large purple star above a large purple square on grass under a blue sky",
];

#[test]
fn word_ids_are_golden() {
    // Embedding tables of committed weights are indexed by these ids.
    assert_eq!(Vocabulary::n_words(), 41);
    let digest = blake3::hash(WORDS.join(" ").as_bytes()).to_hex();
    assert_eq!(&digest[..16], "f0b5b329455a16f0");
    let ids =
        Vocabulary::encode("a red circle , a green star and an orange triangle by a brick wall at night");
    assert_eq!(ids.unwrap(), [0, 0, 0, 2, 8, 16, 5, 2, 11, 19, 4, 3, 9, 18, 26, 2, 34, 35, 28, 38]);
    assert_eq!(Vocabulary::decode(&[1; CAPTION_LEN]), "");
}

#[test]
fn every_caption_reads_back_as_the_labels_of_its_scene() {
    for scene in scenes() {
        let caption = scene.caption();
        let attributes: Attributes = parse_caption(&caption).unwrap();
        assert_eq!(attributes, scene.attributes(), "{caption}");
        assert_eq!(attributes.labels(), scene.labels(), "{caption}");
        assert_eq!(caption.parse(), Ok(attributes));
    }
}

#[test]
fn every_caption_fits_the_slots_and_decodes_to_itself() {
    let mut longest = 0;
    let mut seen = [false; WORDS.len()];
    for scene in scenes() {
        let caption = scene.caption();
        longest = longest.max(caption.split(' ').count());
        let ids = Vocabulary::encode(&caption).unwrap();
        assert_eq!(Vocabulary::decode(&ids), caption);
        let n_pads = ids.iter().take_while(|&&id| id == 0).count();
        assert!(ids[n_pads..].iter().all(|&id| id >= 2), "{caption}: padding is on the left only");
        ids[n_pads..].iter().for_each(|&id| seen[usize::from(id) - 2] = true);
    }
    assert_eq!(longest, 19);
    let unseen: Vec<_> = WORDS.iter().zip(seen).filter(|(_, seen)| !seen).map(|(word, _)| word).collect();
    assert!(unseen.is_empty(), "no caption uses {unseen:?}");
}

#[test]
fn labels_name_each_object_ground_sky_and_relation_once() {
    assert_eq!(N_LOGITS, 47);
    for scene in scenes() {
        let labels = scene.labels();
        assert_eq!(labels.objects.iter().filter(|set| **set).count(), scene.objects.len());
        for object in &scene.objects {
            assert!(labels.objects[object.shape as usize * 8 + object.colour as usize]);
        }
        assert_eq!(Ground::ALL[labels.ground], scene.ground);
        assert_eq!(Sky::ALL[labels.sky], scene.sky);
        assert_eq!(labels.relation > 0, scene.objects.len() == 2);
        if let Some(relation) = scene.relation {
            assert_eq!(Relation::ALL[labels.relation - 1], relation);
        }
    }
}

#[test]
fn radii_follow_the_size_class_and_stars_are_never_below_8() {
    for object in scenes().flat_map(|scene| scene.objects) {
        let range = match (object.size, object.shape) {
            (Size::Small, Shape::Star) => 8.0..9.5,
            (Size::Small, _) => 6.0..8.0,
            (Size::Large, _) => 11.0..13.5,
        };
        assert!(range.contains(&object.radius), "{object:?}");
    }
}

#[test]
fn the_relation_holds_along_its_axis_and_dominates_the_other() {
    for scene in scenes() {
        let ([first, second], Some(relation)) = (scene.objects.as_slice(), scene.relation) else {
            continue;
        };
        let (right, down) = (first.x - second.x, first.y - second.y);
        let (along, across, near, far) = match relation {
            Relation::LeftOf => (-right, down, first.x, second.x),
            Relation::RightOf => (right, down, second.x, first.x),
            Relation::Above => (-down, right, first.y, second.y),
            Relation::Below => (down, right, second.y, first.y),
        };
        assert!((13.0..19.0).contains(&near) && (45.0..51.0).contains(&far), "{scene:?}");
        assert!(along > across.abs(), "{scene:?}");
    }
}

#[test]
fn single_objects_and_rows_of_three_stay_at_their_places() {
    for scene in scenes() {
        match scene.objects.as_slice() {
            [only] => {
                assert!((16.0..48.0).contains(&only.x) && (18.0..48.0).contains(&only.y), "{scene:?}");
            }
            [left, middle, right] => {
                assert_eq!([left.x, middle.x, right.x], [10.0, 32.0, 54.0]);
                assert!(scene.objects.iter().all(|object| object.size == Size::Small));
            }
            _ => {}
        }
        assert!((22.0..40.0).contains(&scene.horizon));
    }
}

/// Checks a count of Bernoulli successes against its probability, within four standard deviations.
fn check_share(what: &str, n_hits: usize, n_trials: usize, probability: f64) {
    let expected = n_trials as f64 * probability;
    let slack = 4.0 * (expected * (1.0 - probability)).sqrt();
    assert!((n_hits as f64 - expected).abs() < slack, "{what}: {n_hits} of {n_trials}, not {expected:.0}");
}

#[test]
fn contents_occur_with_their_probabilities() {
    let all: Vec<Scene> = scenes().collect();
    let count = |holds: &dyn Fn(&Scene) -> bool| all.iter().filter(|scene| holds(scene)).count();
    for (n_objects, probability) in [(1, 0.4), (2, 0.45), (3, 0.15)] {
        let n_hits = count(&|scene| scene.objects.len() == n_objects);
        check_share(&format!("{n_objects} objects"), n_hits, all.len(), probability);
    }
    for sky in Sky::ALL {
        check_share(sky.phrase(), count(&|scene| scene.sky == sky), all.len(), 1.0 / 4.0);
    }
    for ground in Ground::ALL {
        check_share(ground.phrase(), count(&|scene| scene.ground == ground), all.len(), 1.0 / 6.0);
    }
    let n_pairs = count(&|scene| scene.objects.len() == 2);
    for relation in Relation::ALL {
        check_share(relation.phrase(), count(&|scene| scene.relation == Some(relation)), n_pairs, 1.0 / 4.0);
    }
    let objects: Vec<_> = all.iter().flat_map(|scene| &scene.objects).collect();
    for shape in Shape::ALL {
        for colour in Colour::ALL {
            let n_hits =
                objects.iter().filter(|object| (object.shape, object.colour) == (shape, colour)).count();
            check_share(&format!("{colour:?} {shape:?}"), n_hits, objects.len(), 1.0 / 32.0);
        }
    }
}

#[test]
fn pixels_at_an_objects_centre_are_nearest_to_its_own_colour() {
    for scene in scenes().take(500) {
        // Two large objects may overlap at their edges, never at a centre.
        let picture = scene.render();
        let floor = scene.sky.light().max(0.75);
        for object in &scene.objects {
            let distance = |colour: Colour| {
                let seen = mean_around(&picture, object.x as usize, object.y as usize);
                let shade = colour.rgb().map(|level| (f32::from(level) * 1.08 * floor).min(255.0));
                seen.iter().zip(shade).map(|(seen, own)| (seen - own) * (seen - own)).sum::<f32>()
            };
            let nearest = Colour::ALL.into_iter().min_by(|a, b| distance(*a).total_cmp(&distance(*b)));
            assert_eq!(nearest, Some(object.colour), "{} {}", scene.index, scene.caption());
        }
    }
}

#[test]
fn objects_stand_out_from_what_is_behind_them_also_at_night() {
    for scene in scenes() {
        let picture = scene.render();
        let bare = Scene { objects: vec![], ..scene.clone() }.render();
        for object in &scene.objects {
            let (x, y) = (object.x as usize, object.y as usize);
            let (front, back) = (mean_around(&picture, x, y), mean_around(&bare, x, y));
            let distance = front.iter().zip(back).map(|(a, b)| (a - b) * (a - b)).sum::<f32>().sqrt();
            assert!(distance > 60.0, "{distance:.1} for {object:?} in {} {}", scene.index, scene.caption());
        }
    }
}

#[test]
fn object_colours_stay_apart_from_each_other_at_night() {
    for (place, one) in Colour::ALL.into_iter().enumerate() {
        for other in &Colour::ALL[place + 1..] {
            let gaps =
                one.rgb().into_iter().zip(other.rgb()).map(|(a, b)| 0.75 * (f32::from(a) - f32::from(b)));
            let distance = gaps.map(|gap| gap * gap).sum::<f32>().sqrt();
            assert!(distance > 70.0, "{distance:.1} between {one:?} and {other:?}");
        }
    }
}

/// Mean colour of the 5x5 pixels around a place.
fn mean_around(picture: &[u8], x: usize, y: usize) -> [f32; 3] {
    let mut sum = [0.0; 3];
    for row in y - 2..=y + 2 {
        for column in x - 2..=x + 2 {
            let start = (row * SIDE + column) * 3;
            sum.iter_mut().zip(&picture[start..start + 3]).for_each(|(sum, level)| *sum += f32::from(*level));
        }
    }
    sum.map(|sum| sum / 25.0)
}

#[test]
fn the_object_mask_marks_the_patches_that_objects_change() {
    for scene in scenes().take(300) {
        let mask = scene.object_mask();
        let bare = Scene { objects: vec![], ..scene.clone() }.render();
        let picture = scene.render();
        for (patch, &marked) in mask.iter().enumerate() {
            let (left, top) = (patch % GRID * PATCH, patch / GRID * PATCH);
            let n_changed = (0..PATCH * PATCH)
                .map(|pixel| ((top + pixel / PATCH) * SIDE + left + pixel % PATCH) * 3)
                .filter(|&start| picture[start..start + 3] != bare[start..start + 3])
                .count();
            // The rest of the picture, sensor noise included, is the same without objects.
            assert!(!marked || n_changed > 0, "scene {} patch {patch} is marked but bare", scene.index);
            // An outline crossing so little of a patch touches the pixels of one row, or of one corner.
            assert!(marked || n_changed <= 5, "scene {} patch {patch} is unmarked", scene.index);
        }
        for object in &scene.objects {
            assert!(mask[object.y as usize / PATCH * GRID + object.x as usize / PATCH]);
        }
    }
}

#[test]
fn objects_cover_about_a_seventh_of_the_patches() {
    let n_marked: usize = scenes().map(|scene| scene.object_mask().iter().filter(|set| **set).count()).sum();
    let share = n_marked as f64 / (N_SCENES as usize * GRID * GRID) as f64;
    assert!((0.10..0.22).contains(&share), "share {share:.3}");
}

#[test]
fn any_order_case_and_comma_spacing_of_known_words_encodes() {
    let plain = Vocabulary::encode("a red circle , a green star").unwrap();
    assert_eq!(Vocabulary::encode("  A Red circle,a green STAR ").unwrap(), plain);
    assert_eq!(Vocabulary::decode(&Vocabulary::encode("night wall red of").unwrap()), "night wall red of");
}

#[test]
fn unknown_words_are_listed_with_the_nearest_word_and_the_vocabulary() {
    let error = Vocabulary::encode("a read cirle on gras, a read cat and a dragon").unwrap_err();
    let CaptionError::UnknownWords { unknown } = &error else { panic!("{error:?}") };
    let found: Vec<_> = unknown.iter().map(|item| (item.word.as_str(), item.nearest)).collect();
    let near = [("read", "red"), ("cirle", "circle"), ("gras", "grass"), ("cat", "at")];
    let near = near.map(|(word, nearest)| (word, Some(nearest)));
    assert_eq!(found, [&near[..], &[("dragon", None)]].concat());
    let message = error.to_string();
    for word in WORDS.iter().copied().chain(["read", "cirle", "gras", "cat", "dragon"]) {
        assert!(message.contains(word), "`{word}` is not in: {message}");
    }
}

#[test]
fn empty_and_overlong_captions_are_errors() {
    for blank in ["", "  \t\n"] {
        assert_eq!(Vocabulary::encode(blank), Err(CaptionError::Empty));
    }
    assert!(Vocabulary::encode(&["red"; CAPTION_LEN].join(" ")).is_ok());
    let error = Vocabulary::encode(&["red"; CAPTION_LEN + 1].join(" ")).unwrap_err();
    assert_eq!(error, CaptionError::TooManyWords { n_words: 21, limit: 20 });
}

#[test]
#[should_panic(expected = "caption id 41 is not below 41")]
fn decoding_an_id_outside_the_vocabulary_panics() {
    let _ = Vocabulary::decode(&[2, 41]);
}

#[test]
fn captions_outside_the_grammar_name_the_place_and_what_may_stand_there() {
    for (caption, place, expected) in [
        ("red circle on grass at night", 0, "\"a\" or \"an\""),
        ("a circle on grass at night", 1, "a colour"),
        ("a red on grass at night", 2, "a shape"),
        ("a red circle at night", 3, "a ground such as \"on grass\""),
        ("a red circle on grass", 5, "a sky such as \"at night\""),
        ("a red circle , a blue star on grass at night", 7, "\"and\""),
        ("a red circle on grass at night night", 7, "the end"),
    ] {
        let error = parse_caption(caption).unwrap_err();
        let CaptionError::Grammar { position, expected: found, .. } = error else { panic!("{error:?}") };
        assert_eq!((position, found), (place, expected), "{caption}");
    }
}

#[test]
fn a_sheet_holds_the_scenes_in_reading_order() {
    let (width, height, bytes) = sheet(VAL_SEED, 10, 2, 3);
    assert_eq!((width, height, bytes.len()), (3 * 66 + 2, 2 * 66 + 2, width * height * 3));
    let picture = Scene::new(VAL_SEED, 14).render();
    for y in 0..SIDE {
        let start = ((68 + y) * width + 68) * 3;
        assert_eq!(bytes[start..start + SIDE * 3], picture[y * SIDE * 3..(y + 1) * SIDE * 3]);
    }
    assert!(bytes[..width * 2 * 3].iter().all(|level| *level == 255), "the margin is white");
}
