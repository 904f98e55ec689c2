//! `fd-lenet`: the Frechet distance to all MNIST test images, in the features of LeNet-5.

use specimen_datasets::{data_root::DataRoot, error::DatasetError, manifest::item, mnist::Mnist};
use specimen_extract::{
    lenet::{BATCH, LeNet, SIDE},
    weights_lookup::Places,
};
use specimen_pixels::Image;
use specimen_stats::gaussian::Gaussian;

use crate::error::MeasureError;
use crate::image_metric::{CellImage, ImageMeasure, ImageMetric, Taken, distance, gaussian};
use crate::metrics::Outcome;
use crate::network::FeatureNetwork;

const NAME: &str = "fd-lenet";
/// The metric of this file.
pub const METRIC: ImageMetric = ImageMetric {
    name: NAME,
    open: |data| {
        let net = LeNet::open(&Places::of_this_process(data)).map_err(|error| fault(error.into()))?;
        Ok(Box::new(FdLenet { net, data: data.map(DataRoot::new), reference: None }))
    },
};

const LENET: Taken =
    Taken { network: "LeNet-5", side: SIDE, batch: BATCH, value: |byte| f32::from(byte) / 255.0 };

struct FdLenet {
    net: LeNet,
    data: Option<DataRoot>,
    /// Of the test images with their number, once they were asked for.
    reference: Option<(Gaussian, u64)>,
}

impl FdLenet {
    fn test_images(&self) -> Result<Vec<Image>, DatasetError> {
        let root = self.data.as_ref();
        let mnist =
            Mnist::read(&item("mnist-test-images").locate(root)?, &item("mnist-test-labels").locate(root)?)?;
        let rgb = |image: &[u8]| image.iter().flat_map(|&byte| [byte; 3]).collect();
        Ok(mnist.pixels().chunks_exact(SIDE * SIDE).map(|image| Image::new(SIDE, SIDE, rgb(image))).collect())
    }
}

impl ImageMeasure for FdLenet {
    fn extractor(&self) -> String {
        self.net.identity()
    }

    fn measure(&mut self, images: &[CellImage<'_>]) -> Result<Outcome, MeasureError> {
        if self.reference.is_none() {
            let digits = self.test_images().map_err(|error| fault(error.into()))?;
            let rows = LENET.rows_of(&self.net, &digits).map_err(fault)?;
            self.reference = Some((gaussian(NAME, &rows, self.net.n_dims())?, digits.len() as u64));
        }
        let (reference, n) = self.reference.as_ref().expect("it was made above");
        let generated = LENET.features(&self.net, images)?;
        distance(NAME, self.net.identity(), (reference, *n), generated)
    }
}

fn fault(source: specimen_pixels::network::NetworkFault) -> MeasureError {
    MeasureError::Network { network: NAME.to_owned(), source }
}
