//! Pictures with their captions, paired by id or by name, and both as rows of one joint space.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use specimen_foundation::{fail, text::counted};
use specimen_pixels::Source;
use specimen_stats::StatsError;
use specimen_stats::cosine_score::cosine;
use specimen_stats::features::FeatureRows;

use crate::alike::check_widths;
use crate::captions::Captions;
use crate::error::{InMetric, MeasureError};
use crate::image_id::{Listed, image_id};
use crate::images::Broken;
use crate::input::Input;
use crate::meter::Meter;
use crate::metrics::clip_score::ClipScoreRule;
use crate::metrics::{CaptionsOf, PictureScore, Sides};
use crate::network::TextNetwork;
use crate::sample::Rows;

/// Pictures and captions of equal number, row by row.
pub(crate) struct Captioned {
    /// Where pictures and captions are.
    of: [PathBuf; 2],
    /// Of the pictures.
    pub(crate) rows: Rows,
    texts: FeatureRows,
    /// What made the rows of texts; absent where they were given.
    pub(crate) network: Option<Box<dyn TextNetwork>>,
    /// What each row is of; nothing where rows were given.
    pairs: Vec<Pair>,
}

/// A picture and its caption.
struct Pair {
    id: String,
    file: String,
    caption: String,
}

impl Captioned {
    /// The generated side of `sides` with its captions, for `metric`. `texts` says how these are prepared. A meter that keeps
    /// going leaves out what has no counterpart.
    pub(crate) fn of(
        meter: &mut Meter<'_>,
        metric: &'static str,
        texts: &ClipScoreRule,
        sides: &Sides<'_>,
    ) -> Result<Self, MeasureError> {
        let images = sides.generated;
        match sides.captions {
            None => Err(crate::error::needs_captions(metric)),
            Some(CaptionsOf::Embeddings(captions)) => Self::given(meter, metric, [images, captions]),
            Some(CaptionsOf::File(captions)) => {
                let source = pictures(meter, metric, images)?;
                let ids = pair(meter, images, source.keys(), captions)?;
                let of = [images, captions.path()];
                let caption = |id: &String| captions.by_id().get(id);
                Self::embedded(meter, (metric, texts), of, source, &ids, caption)
            }
            Some(CaptionsOf::Names(captions)) => {
                let source = pictures(meter, metric, images)?;
                let names = source.keys().to_vec();
                let caption = |name: &String| Some(&captions[name]);
                Self::embedded(meter, (metric, texts), [images; 2], source, &names, caption)
            }
        }
    }

    /// Rows that were made before.
    fn given(meter: &mut Meter<'_>, metric: &'static str, of: [&Path; 2]) -> Result<Self, MeasureError> {
        meter.check_sides(&of.map(|path| (path, Some(metric))))?;
        let (rows, texts) = (meter.rows(of[0], metric)?, meter.rows(of[1], metric)?.features);
        let of = of.map(Path::to_path_buf);
        Ok(Self { of, rows, texts, network: None, pairs: Vec::new() })
    }

    /// The pictures of `source` that have a caption, by their `ids`.
    fn embedded<'c>(
        meter: &mut Meter<'_>,
        (metric, texts): (&'static str, &ClipScoreRule),
        of: [&Path; 2],
        source: Source,
        ids: &[String],
        caption: impl Fn(&String) -> Option<&'c String>,
    ) -> Result<Self, MeasureError> {
        // Opened before the pictures, so that what is absent is reported before they are gone through.
        let rule = meter.protocol().recipe().network.clone();
        let network = meter.networks().texts(&rule, texts)?;
        let keys = source.keys().to_vec();
        let (places, rows) = meter.rows_of_images(source, of[0])?;
        let (places, rows) = with_captions(places, rows, |at| caption(&ids[at]).is_some());
        let pair = |&at: &usize| Pair {
            id: ids[at].clone(),
            file: keys[at].clone(),
            caption: caption(&ids[at]).expect("those without a caption are left out").clone(),
        };
        let pairs: Vec<Pair> = places.iter().map(pair).collect();
        let captions: Vec<String> = pairs.iter().map(|pair| pair.caption.clone()).collect();
        let fault = |source| MeasureError::Network { network: rule.name.clone(), source };
        let texts = network.embed(&captions).map_err(fault)?;
        let texts = FeatureRows::new(texts, network.n_dims()).in_metric(metric, &of)?;
        let of = of.map(Path::to_path_buf);
        Ok(Self { of, rows, texts, network: Some(network), pairs })
    }

    /// Where pictures and captions are.
    pub(crate) fn paths(&self) -> [&Path; 2] {
        [&self.of[0], &self.of[1]]
    }

    /// The cosine of each picture and its caption.
    pub(crate) fn cosines(&self, metric: &'static str) -> Result<Vec<f64>, MeasureError> {
        let (of, images, texts) = (self.paths(), &self.rows.features, &self.texts);
        if images.n() != texts.n() {
            let what = "rows of texts, one for each picture";
            let error = StatsError::WrongSize { what, expected: images.n(), found: texts.n() };
            return Err(error).in_metric(metric, &of);
        }
        check_widths((of[0], images.d()), (of[1], texts.d()))?;
        let cosines: Result<Vec<f64>, _> =
            (0..images.n()).map(|i| cosine(images.row(i), texts.row(i))).collect();
        cosines.in_metric(metric, &of)
    }

    /// The captions, in the order of the rows; none where rows were given.
    pub(crate) fn captions(&self) -> Vec<String> {
        self.pairs.iter().map(|pair| pair.caption.clone()).collect()
    }

    /// Every picture with its score; none where rows were given.
    pub(crate) fn scored(self, scores: &[f64]) -> Vec<PictureScore> {
        let picture = |(Pair { id, file, caption }, &score)| PictureScore { id, file, caption, score };
        self.pairs.into_iter().zip(scores).map(picture).collect()
    }
}

/// The pictures at `images`. Fails where something else is there.
pub(crate) fn pictures(meter: &mut Meter<'_>, metric: &str, images: &Path) -> Result<Source, MeasureError> {
    match meter.open(images)? {
        Input::Images(source) => Ok(source),
        _ => Err(crate::error::needs_pictures(images, format!("{metric} with captions"))),
    }
}

/// The rows of pictures that have a caption, by their place.
fn with_captions(places: Vec<usize>, rows: Rows, has_caption: impl Fn(usize) -> bool) -> (Vec<usize>, Rows) {
    let kept: Vec<usize> = (0..places.len()).filter(|&row| has_caption(places[row])).collect();
    if kept.len() == places.len() {
        return (places, rows);
    }
    let features = rows.features.select(&kept);
    (kept.into_iter().map(|row| places[row]).collect(), Rows { features, origin: rows.origin })
}

/// The id of each picture; fails unless each has one caption and each caption one picture. A meter that keeps going leaves
/// out what has no counterpart, as long as something is left.
pub(crate) fn pair(
    meter: &mut Meter<'_>,
    images: &Path,
    keys: &[String],
    captions: &Captions,
) -> Result<Vec<String>, MeasureError> {
    let ids: Vec<String> = keys.iter().map(|key| image_id(key)).collect();
    let mut key_of: BTreeMap<&str, &str> = BTreeMap::new();
    for (id, key) in ids.iter().zip(keys) {
        if let Some(first) = key_of.insert(id, key) {
            let (first, second) = (first.to_owned(), key.clone());
            fail!(Missing: "{}: {first} and {second} both have the id `{id}`; pictures are paired by the \
                last digits of their names", images.display());
        }
    }
    if let Some(blank) = captions.first_blank().filter(|_| !meter.keeps_going()) {
        return Err(blank);
    }
    let without_caption: Vec<String> =
        ids.iter().filter(|id| !captions.by_id().contains_key(*id)).cloned().collect();
    let without_picture: Vec<String> =
        captions.by_id().keys().filter(|id| !key_of.contains_key(id.as_str())).cloned().collect();
    if without_caption.is_empty() && without_picture.is_empty() {
        return Ok(ids);
    }
    if meter.keeps_going() && without_caption.len() < ids.len() {
        for (id, key) in ids.iter().zip(keys).filter(|(id, _)| !captions.by_id().contains_key(*id)) {
            let no_caption = || format!("no caption of id {id} in {}", captions.path().display());
            let why = captions.why_blank(id).map_or_else(no_caption, |blank| blank.to_string());
            let why = format!("{}: {key}: {why}", images.display());
            meter.leave_out(images, Broken { key: key.clone(), why });
        }
        for id in without_picture {
            let why = format!(
                "{}: the caption of id {id} has no picture in {}",
                captions.path().display(),
                images.display()
            );
            meter.leave_out_caption(captions.path(), Broken { key: id, why });
        }
        return Ok(ids);
    }
    fail!(Missing: "{} and {}: pictures and captions are paired by id, the last digits of a name, and do not \
        match: {} without a caption ({}), {} without a picture ({}); `--keep-going` leaves both out",
        images.display(), captions.path().display(), counted(without_caption.len(), "picture"),
        Listed(without_caption), counted(without_picture.len(), "caption"), Listed(without_picture))
}
