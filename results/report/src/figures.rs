//! Every figure a report may have, in reading order: what it is called, and how it comes from a summary. What
//! cannot be drawn has its reason.

use specimen_record::{DiagnosticFile, Summary};

use crate::ReportError;
use crate::depth::Depths;
use crate::draft_paths::PathSimilarities;
use crate::feature_rows::FeatureMaps;
use crate::figure::Figure;
use crate::pareto::{Pareto, Quality};
use crate::phases::StepCosts;
use crate::spent::Spent;
use crate::sweep::sweeps;

/// A figure, or the reason why it is not there.
pub(crate) struct Plate {
    /// Name of its files, without ending.
    pub(crate) name: String,
    pub(crate) drawn: Result<Figure, String>,
}

/// All figures of a summary and of what was looked at besides.
pub(crate) fn figures(
    summary: &Summary,
    diagnostics: &[DiagnosticFile],
    quality: &Quality,
) -> Result<Vec<Plate>, ReportError> {
    let plane = Pareto::of(summary, quality);
    let plate =
        |name: &str, drawn: Result<Result<Figure, ReportError>, String>| -> Result<Plate, ReportError> {
            let drawn = match drawn {
                Ok(figure) => Ok(figure?),
                Err(why) => Err(why),
            };
            Ok(Plate { name: name.to_owned(), drawn })
        };
    let mut plates =
        vec![plate("pareto", plane.as_ref().map(|plane| plane.figure(summary)).map_err(Clone::clone))?];
    plates.extend(swept(summary, plane.as_ref())?);
    plates.push(plate("phases", StepCosts::of(summary).map(|costs| costs.figure(summary)))?);
    plates.push(plate("acceptance", Depths::of(summary).map(|depths| depths.figure(summary)))?);
    plates.push(plate("tvd", Spent::of(summary).map(|spent| spent.figure(summary)))?);
    plates.push(plate("features", FeatureMaps::of(diagnostics).map(|maps| maps.figure(summary)))?);
    plates.push(plate("paths", PathSimilarities::of(diagnostics).map(|paths| paths.figure(summary)))?);
    Ok(plates)
}

fn swept(summary: &Summary, plane: Result<&Pareto, &String>) -> Result<Vec<Plate>, ReportError> {
    let missing = |why: String| vec![Plate { name: "sweep".to_owned(), drawn: Err(why) }];
    let found = match sweeps(summary) {
        Ok(found) => found,
        Err(why) => return Ok(missing(why)),
    };
    let plane = match plane {
        Ok(plane) => plane,
        Err(why) => return Ok(missing(why.clone())),
    };
    let mut plates: Vec<Plate> = Vec::new();
    for sweep in &found {
        let name = sweep.file_name();
        // Two numbers of one name: the one with more cells keeps it.
        if !plates.iter().any(|plate| plate.name == name) {
            plates.push(Plate { name, drawn: sweep.figure(summary, plane)? });
        }
    }
    Ok(plates)
}
