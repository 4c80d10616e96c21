//! Django.

use super::File;
use crate::model::{DataModel, Framework, Remark};

/// Reads an application.
pub(crate) fn read(files: &[File]) -> DataModel {
    let place = files.first().map(|file| file.at(0)).unwrap_or_default();
    let remarks = vec![Remark { message: "models of Django are not read yet".to_owned(), place }];
    DataModel { framework: Framework::Django, remarks, ..DataModel::default() }
}
