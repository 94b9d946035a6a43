//! The metrics (contract, section 8): what each record adds to each.

use crate::verdict::{Facts, RecordVerdict, Share, Status};

macro_rules! metrics {
    ($($variant:ident $name:literal $summary:literal)+) => {
        /// A ratio that a run reports. New metrics may come.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Metric {
            $(#[doc = $summary] $variant,)+
        }

        impl Metric {
            /// Every metric, in the order of `summary.csv`.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The stable name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// What it measures, in one line.
            pub fn summary(self) -> &'static str {
                match self { $(Self::$variant => $summary,)+ }
            }
        }
    };
}

metrics! {
    ValidityRecords "validity.records" "Valid records of all records."
    ValidityAnnotations "validity.annotations" "Valid annotations of all annotations of readable sessions."
    ValidityRefs "validity.refs" "Refs that resolve, of all refs of readable sessions."
    ValidityCitations "validity.citations" "Distinct markers that name a source, of all distinct markers of readable answers."
    MalformedRecords "malformed.records" "Malformed records of all records."
    CoverageChars "coverage.chars" "Covered characters of claim documents; white space does not count."
    CoverageSentences "coverage.sentences" "Covered sentences of claim documents and answers."
    CoverageKnown "coverage.known" "Readable records with something to cover, of all readable records."
    PolaritySupports "polarity.supports" "Sources that support, of the sources of valid annotations."
    PolarityRefutes "polarity.refutes" "Sources that refute, of the sources of valid annotations."
    ClaimsSupported "claims.supported" "Valid annotations that are only supported, of all valid annotations."
    ClaimsRefuted "claims.refuted" "Valid annotations that are only refuted, of all valid annotations."
    ClaimsContested "claims.contested" "Valid annotations with sources of both kinds, of all valid annotations."
    ConfidenceMean "confidence.mean" "The mean confidence of the sources of valid annotations."
    ConfidencePrimary "confidence.primary" "Sources of valid annotations with confidence in [0.9, 1]."
    ConfidenceSecondary "confidence.secondary" "Sources of valid annotations with confidence in [0.6, 0.9)."
    ConfidenceAnecdotal "confidence.anecdotal" "Sources of valid annotations with confidence in [0.3, 0.6)."
    ConfidenceWeak "confidence.weak" "Sources of valid annotations with confidence in [0, 0.3)."
    IndependenceDocuments "independence.documents" "Distinct documents cited, of distinct spans or chunks cited."
}

/// What one record adds to every metric, in their order.
pub type Shares = [Share; Metric::ALL.len()];

/// Which way a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More of it.
    Higher,
    /// Less of it.
    Lower,
}

impl Metric {
    /// Which way it is better; `None` where that depends on the records: a corpus may well hold more
    /// sources that refute than another.
    pub fn better(self) -> Option<Better> {
        match self {
            Self::ValidityRecords
            | Self::ValidityAnnotations
            | Self::ValidityRefs
            | Self::ValidityCitations
            | Self::CoverageChars
            | Self::CoverageSentences
            | Self::CoverageKnown => Some(Better::Higher),
            Self::MalformedRecords => Some(Better::Lower),
            _ => None,
        }
    }

    /// Whether the numerator is counted in units of 1e-9.
    pub fn is_in_billionths(self) -> bool {
        self == Self::ConfidenceMean
    }

    /// What the numerator is counted in, as parts of one: 1, or 1e9 for billionths.
    pub fn unit(self) -> u64 {
        if self.is_in_billionths() { 1_000_000_000 } else { 1 }
    }

    /// What one record adds: numerator and denominator.
    pub fn of(self, verdict: &RecordVerdict) -> Share {
        Self::all_of(verdict)[self as usize]
    }

    /// The same for every metric, in their order.
    #[inline]
    pub fn all_of(verdict: &RecordVerdict) -> Shares {
        let mut shares = [Share::default(); Self::ALL.len()];
        let mut set = |metric: Self, part: u64, whole: u64| shares[metric as usize] = Share { part, whole };
        set(Self::ValidityRecords, u64::from(verdict.status == Status::Valid), 1);
        set(Self::MalformedRecords, u64::from(verdict.status == Status::Malformed), 1);
        let Some(facts) = &verdict.facts else { return shares };
        if let Some(something) = has_something_to_cover(facts) {
            set(Self::CoverageKnown, u64::from(something), 1);
        }
        match facts {
            Facts::Session(facts) => {
                let (sources, annotations) = (facts.supports + facts.refutes, facts.annotations);
                set(Self::ValidityAnnotations, annotations.part, annotations.whole);
                set(Self::ValidityRefs, facts.refs.part, facts.refs.whole);
                set(Self::CoverageChars, facts.chars.part, facts.chars.whole);
                let sentences = facts.sentences.unwrap_or_default();
                set(Self::CoverageSentences, sentences.part, sentences.whole);
                set(Self::PolaritySupports, facts.supports, sources);
                set(Self::PolarityRefutes, facts.refutes, sources);
                set(Self::ClaimsSupported, facts.claims_supported, annotations.part);
                set(Self::ClaimsRefuted, facts.claims_refuted, annotations.part);
                set(Self::ClaimsContested, facts.claims_contested, annotations.part);
                set(Self::ConfidenceMean, facts.confidence, sources);
                let bands = [
                    Self::ConfidencePrimary,
                    Self::ConfidenceSecondary,
                    Self::ConfidenceAnecdotal,
                    Self::ConfidenceWeak,
                ];
                bands.into_iter().zip(facts.bands).for_each(|(band, count)| set(band, count, sources));
                set(Self::IndependenceDocuments, facts.documents_cited, facts.spans_cited);
            }
            Facts::Answer(facts) => {
                set(Self::ValidityCitations, facts.citations.part, facts.citations.whole);
                let sentences = facts.sentences.unwrap_or_default();
                set(Self::CoverageSentences, sentences.part, sentences.whole);
                set(Self::IndependenceDocuments, facts.documents_cited, facts.chunks_cited);
            }
        }
        shares
    }
}

/// Whether a readable record has a character or a sentence that could be covered; `None` where that was
/// not counted.
pub(super) fn has_something_to_cover(facts: &Facts) -> Option<bool> {
    match facts {
        Facts::Session(facts) => {
            Some(facts.chars.whole + facts.sentences.map_or(0, |sentences| sentences.whole) > 0)
        }
        Facts::Answer(facts) => facts.sentences.map(|sentences| sentences.whole > 0),
    }
}

/// The sums of one metric over records, from which ratios and their errors follow exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetricSums {
    /// The sum of the numerators.
    pub n: u128,
    /// The sum of the denominators.
    pub d: u128,
    /// The sum of the squares of the numerators.
    pub nn: u128,
    /// The sum of the products.
    pub nd: u128,
    /// The sum of the squares of the denominators.
    pub dd: u128,
    /// Records with a denominator above 0.
    pub records: u64,
    /// Clusters with a denominator above 0: those records, unless some were joined (`--cluster`). The
    /// squares and products above are of clusters.
    pub clusters: u64,
    /// Of those, clusters whose numerator is below their denominator; for a metric in billionths,
    /// below the denominator in those units.
    pub below: u64,
    /// Of those, clusters whose numerator is above 0.
    pub above_zero: u64,
}

impl MetricSums {
    pub(crate) fn add(&mut self, share: Share, unit: u64) {
        self.add_cluster(share, unit, 1);
    }

    /// Adds what some records come to that are one cluster.
    pub(super) fn add_cluster(&mut self, share: Share, unit: u64, records: u64) {
        if share.whole == 0 {
            return;
        }
        let (n, d) = (u128::from(share.part), u128::from(share.whole));
        self.n += n;
        self.d += d;
        self.nn += n * n;
        self.nd += n * d;
        self.dd += d * d;
        self.records += records;
        self.clusters += 1;
        self.below += u64::from(n < d * u128::from(unit));
        self.above_zero += u64::from(n > 0);
    }

    /// Takes back what was added as one cluster.
    pub(super) fn remove_cluster(&mut self, share: Share, unit: u64, records: u64) {
        let mut added = Self::default();
        added.add_cluster(share, unit, records);
        self.n -= added.n;
        self.d -= added.d;
        self.nn -= added.nn;
        self.nd -= added.nd;
        self.dd -= added.dd;
        self.records -= added.records;
        self.clusters -= added.clusters;
        self.below -= added.below;
        self.above_zero -= added.above_zero;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.n += other.n;
        self.d += other.d;
        self.nn += other.nn;
        self.nd += other.nd;
        self.dd += other.dd;
        self.records += other.records;
        self.clusters += other.clusters;
        self.below += other.below;
        self.above_zero += other.above_zero;
    }
}
