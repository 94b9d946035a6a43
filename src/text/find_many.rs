//! stub
use super::{Occurrence, find_once};
pub(crate) fn find_each_once(line: &[u8], needles: &[&[u8]]) -> Vec<Occurrence> {
    needles.iter().map(|needle| find_once(line, needle)).collect()
}
