//! Reading: the header of a file is validated when it is opened, and tensors are read and converted on demand.
//!
//! Files are not mapped into memory: another process that shortens a mapped file would kill this one.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use safetensors::tensor::{Metadata, TensorInfo};
use safetensors::{Dtype, SafeTensors};

use crate::tensor::{decode_floats, decode_whole};
use crate::{CHECKSUM, Tensor, TensorError, checksum};

/// The largest header that is read, the limit of the format.
const MAX_HEADER: u64 = 100_000_000;

/// An open file with a valid header.
#[derive(Debug)]
pub struct TensorFile {
    path: PathBuf,
    file: Mutex<File>,
    header: Metadata,
    /// Where the data of the tensors begin.
    start: u64,
}

impl TensorFile {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// When the file cannot be read or its header is not valid.
    pub fn open(path: &Path) -> Result<TensorFile, TensorError> {
        let failed = |source| TensorError::File { path: path.to_owned(), source };
        let format = |what: String| TensorError::Inside {
            path: path.to_owned(),
            source: Box::new(TensorError::Format(what)),
        };
        let mut file = File::open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        if about.is_dir() {
            return Err(failed(std::io::ErrorKind::IsADirectory.into()));
        }
        let mut size = [0; 8];
        file.read_exact(&mut size).map_err(|_| format("it is shorter than a header".into()))?;
        let size = u64::from_le_bytes(size);
        let start = size.saturating_add(8);
        if size > MAX_HEADER || start > about.len() {
            return Err(format(format!("its header would have {size} bytes")));
        }
        let mut text = vec![0; size as usize];
        file.read_exact(&mut text).map_err(failed)?;
        let header: Metadata = serde_json::from_slice(&text).map_err(|error| format(error.to_string()))?;
        if start + header.data_len() as u64 != about.len() {
            return Err(format("its size is not the one in its header".into()));
        }
        Ok(TensorFile { path: path.to_owned(), file: Mutex::new(file), header, start })
    }

    /// The tensors of the file.
    pub fn tensors(&self) -> Tensors<'_> {
        Tensors { header: Cow::Borrowed(&self.header), data: Data::File(&self.file, self.start) }
    }

    /// The texts in the header of the file, by name.
    pub fn metadata(&self) -> HashMap<String, String> {
        self.header.metadata().clone().unwrap_or_default()
    }

    /// Fails if the contents are not those that [`write_with`](crate::write_with) wrote.
    ///
    /// # Errors
    /// When there is no checksum, or another one.
    pub fn verify(&self) -> Result<(), TensorError> {
        let metadata = self.metadata();
        let tensors = self.tensors();
        let hash = checksum(&metadata, &tensors.names(), |name| {
            let info = tensors.info(name)?;
            Ok((info.dtype, info.shape.clone(), tensors.bytes(name, info.data_offsets)?))
        });
        match metadata.get(CHECKSUM) {
            None => Err(self.inside(TensorError::NoChecksum)),
            Some(found) if *found != hash.map_err(|error| self.inside(error))? => {
                Err(self.inside(TensorError::Damaged))
            }
            Some(_) => Ok(()),
        }
    }

    /// The same error with the name of this file.
    pub fn inside(&self, error: TensorError) -> TensorError {
        TensorError::Inside { path: self.path.clone(), source: Box::new(error) }
    }
}

/// The tensors of a file.
pub struct Tensors<'a> {
    header: Cow<'a, Metadata>,
    data: Data<'a>,
}

/// The bytes after the header.
#[derive(Clone, Copy)]
enum Data<'a> {
    Bytes(&'a [u8]),
    File(&'a Mutex<File>, u64),
}

impl<'a> Tensors<'a> {
    /// Reads the header of a safetensors file in memory; nothing else is copied.
    pub fn parse(bytes: &'a [u8]) -> Result<Tensors<'a>, TensorError> {
        let read = SafeTensors::read_metadata(bytes);
        let (size, header) = read.map_err(|error| TensorError::Format(error.to_string()))?;
        Ok(Tensors { header: Cow::Owned(header), data: Data::Bytes(&bytes[8 + size..]) })
    }

    /// Names of all tensors, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names = self.header.offset_keys();
        names.sort();
        names
    }

    /// Whether there is a tensor of that name.
    pub fn has(&self, name: &str) -> bool {
        self.header.info(name).is_some()
    }

    /// Shape of a tensor.
    pub fn shape(&self, name: &str) -> Result<Vec<usize>, TensorError> {
        Ok(self.info(name)?.shape.clone())
    }

    fn info(&self, name: &str) -> Result<&TensorInfo, TensorError> {
        let missing = || TensorError::Missing { name: name.into(), present: self.listed() };
        self.header.info(name).ok_or_else(missing)
    }

    /// The bytes of a tensor, or of a part of it, given by their place after the header.
    fn bytes(&self, name: &str, (first, end): (usize, usize)) -> Result<Cow<'a, [u8]>, TensorError> {
        let (file, start) = match self.data {
            Data::Bytes(bytes) => return Ok(Cow::Borrowed(&bytes[first..end])),
            Data::File(file, start) => (file, start),
        };
        let mut bytes = vec![0; end - first];
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        let read = file.seek(SeekFrom::Start(start + first as u64)).and_then(|_| file.read_exact(&mut bytes));
        read.map_err(|source| TensorError::Read { name: name.into(), source })?;
        Ok(Cow::Owned(bytes))
    }

    /// A matrix with its rows and columns.
    fn matrix(&self, name: &str) -> Result<(&TensorInfo, usize, usize), TensorError> {
        let info = self.info(name)?;
        match info.shape[..] {
            [rows, columns] => Ok((info, rows, columns)),
            _ => Err(TensorError::Shape {
                name: name.into(),
                got: info.shape.clone(),
                expected: "must be a matrix".into(),
            }),
        }
    }

    /// The names of a few tensors, for messages.
    pub fn listed(&self) -> String {
        const MAX_NAMES: usize = 8;
        let names = self.names();
        match names.len() {
            0 => "none".into(),
            count if count > MAX_NAMES => {
                format!("{} and {} more", names[..MAX_NAMES].join(", "), count - MAX_NAMES)
            }
            _ => names.join(", "),
        }
    }

    /// A tensor of floating-point numbers, all finite.
    pub fn floats(&self, name: &str) -> Result<Tensor<f64>, TensorError> {
        let info = self.info(name)?;
        let data = decode_floats(name, info.dtype, &self.bytes(name, info.data_offsets)?, 0)?;
        Ok(Tensor { name: name.into(), shape: info.shape.clone(), data })
    }

    /// Rows `first..end` of a matrix of floating-point numbers. Only these are read, so that a matrix larger than the memory can be
    /// processed in blocks.
    pub fn row_range(&self, name: &str, first: usize, end: usize) -> Result<Tensor<f64>, TensorError> {
        let (info, count, columns) = self.matrix(name)?;
        if end > count {
            return Err(TensorError::Row { name: name.into(), rows: count, row: end - 1 });
        }
        let first = first.min(end);
        let (start, stop) = info.data_offsets;
        let bytes = (stop - start).checked_div(count).unwrap_or(0);
        let part = self.bytes(name, (start + first * bytes, start + end * bytes))?;
        let data = decode_floats(name, info.dtype, &part, first * columns)?;
        Ok(Tensor { name: name.into(), shape: vec![end - first, columns], data })
    }

    /// Name of the matrix of floating-point numbers with the most entries; the first by name among equals.
    pub fn largest_matrix(&self) -> Option<String> {
        let mut largest: Option<(usize, String)> = None;
        for name in self.names() {
            let Ok(info) = self.info(&name) else { continue };
            let float = matches!(info.dtype, Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::BF16);
            if let ([rows, columns], true) = (&info.shape[..], float) {
                let entries = rows.saturating_mul(*columns);
                if entries > largest.as_ref().map_or(0, |(max, _)| *max) {
                    largest = Some((entries, name));
                }
            }
        }
        largest.map(|(_, name)| name)
    }

    /// The given rows of a matrix of floating-point numbers; only these are read.
    pub fn rows(&self, name: &str, rows: &[usize]) -> Result<Tensor<f64>, TensorError> {
        let (_, _, columns) = self.matrix(name)?;
        let mut data = Vec::new();
        for &row in rows {
            data.extend(self.row_range(name, row, row.saturating_add(1))?.data);
        }
        Ok(Tensor { name: name.into(), shape: vec![rows.len(), columns], data })
    }

    /// A tensor of whole numbers from 0 to 2^31 - 1.
    pub fn whole(&self, name: &str) -> Result<Tensor<u32>, TensorError> {
        let info = self.info(name)?;
        let bytes = &self.bytes(name, info.data_offsets)?;
        let data = decode_whole(name, info.dtype, bytes)?;
        Ok(Tensor { name: name.into(), shape: info.shape.clone(), data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Entry, write_with};
    use safetensors::tensor::TensorView;

    #[test]
    #[cfg(unix)]
    fn written_file_has_the_permissions_of_a_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["a.safetensors", "other"].map(|name| folder.path().join(name));
        write_with(&path, &[Entry::f32("a", &[1], vec![0.5])], HashMap::new()).unwrap();
        std::fs::write(&other, b"").unwrap();
        let permissions = |path: &Path| std::fs::metadata(path).unwrap().permissions();
        assert_eq!(permissions(&path), permissions(&other));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "no temporary file stays");
    }

    /// Every bit of a file with a checksum matters, or the file is read as it was written.
    #[test]
    fn no_flipped_bit_is_silent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.safetensors");
        let metadata = HashMap::from([("kind".to_string(), "test".to_string())]);
        write_with(&path, &[Entry::f32("a", &[2, 3], vec![0.5; 6])], metadata).unwrap();
        let good = std::fs::read(&path).unwrap();
        let contents = |file: &TensorFile| (file.metadata(), file.tensors().floats("a").unwrap());
        let file = TensorFile::open(&path).unwrap();
        file.verify().unwrap();
        let written = contents(&file);
        for bit in 0..8 * good.len() {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, bytes).unwrap();
            if let Ok(file) = TensorFile::open(&path)
                && file.verify().is_ok()
            {
                assert_eq!(contents(&file), written, "bit {bit}");
            }
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn shortened_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.safetensors");
        crate::write(&path, &[Entry::f64("a", &[1000, 100], vec![0.5; 100_000])]).unwrap();
        let file = TensorFile::open(&path).unwrap();
        let length = std::fs::metadata(&path).unwrap().len();
        File::options().write(true).open(&path).unwrap().set_len(length / 2).unwrap();
        assert!(file.tensors().row_range("a", 0, 10).is_ok());
        let error = file.tensors().row_range("a", 900, 910).unwrap_err();
        assert!(matches!(error, TensorError::Read { .. }), "{error}");
        assert!(TensorFile::open(&path).is_err());
    }

    fn bytes(entries: &[(&str, Dtype, Vec<usize>, Vec<u8>)]) -> Vec<u8> {
        let views = entries.iter().map(|(name, dtype, shape, data)| {
            (name.to_string(), TensorView::new(*dtype, shape.clone(), data).unwrap())
        });
        safetensors::serialize(views, None).unwrap()
    }

    #[test]
    fn row_ranges_agree_in_every_type() {
        let numbers: Vec<f32> = (0..12).map(|i| i as f32 * 0.5 - 2.0).collect();
        let f32s = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        let f64s = numbers.iter().flat_map(|&x| f64::from(x).to_le_bytes()).collect();
        let f16s = numbers.iter().flat_map(|&x| half::f16::from_f32(x).to_le_bytes()).collect();
        let bf16s = numbers.iter().flat_map(|&x| half::bf16::from_f32(x).to_le_bytes()).collect();
        let shape = || vec![4, 3];
        let file = bytes(&[
            ("a", Dtype::F32, shape(), f32s),
            ("b", Dtype::F64, shape(), f64s),
            ("c", Dtype::F16, shape(), f16s),
            ("d", Dtype::BF16, shape(), bf16s),
            ("e", Dtype::U8, vec![100, 100], vec![0; 10_000]),
        ]);
        let tensors = Tensors::parse(&file).unwrap();
        let expected: Vec<f64> = numbers[3..9].iter().map(|&x| f64::from(x)).collect();
        for name in ["a", "b", "c", "d"] {
            assert_eq!(tensors.row_range(name, 1, 3).unwrap().data, expected, "{name}");
            assert!(tensors.row_range(name, 2, 2).unwrap().data.is_empty());
            assert!(matches!(tensors.row_range(name, 2, 5), Err(TensorError::Row { row: 4, .. })));
            assert!(matches!(tensors.rows(name, &[0, usize::MAX]), Err(TensorError::Row { .. })));
        }
        assert!(matches!(tensors.row_range("e", 0, 1), Err(TensorError::Type { .. })));
        assert_eq!(tensors.largest_matrix().as_deref(), Some("a"));
    }

    #[test]
    fn bad_value_is_reported_at_its_index_in_the_tensor() {
        let data = [0.0, 1.0, 2.0, f32::NAN].iter().flat_map(|x: &f32| x.to_le_bytes()).collect();
        let file = bytes(&[("a", Dtype::F32, vec![4, 1], data)]);
        let error = Tensors::parse(&file).unwrap().row_range("a", 2, 4).unwrap_err();
        assert!(matches!(error, TensorError::Value { index: 3, .. }), "{error}");
    }
}
