//! The intervals hold what they say: drawn again and again, they cover the truth about 95 times in 100.

use sourcecheck::{Metric, MetricSums};

/// Records of one draw, and the most refs that one has.
const RECORDS: usize = 1000;
const REFS: u64 = 9;
const DRAWS: usize = 2000;

/// The sums over records of 1 to [`REFS`] refs, each valid with probability `p`. With probability
/// `together` all refs of a record share one fate, which is the correlation between any two of them.
fn draw(random: &mut fastrand::Rng, p: f64, together: f64) -> MetricSums {
    let mut sums = MetricSums::default();
    for _ in 0..RECORDS {
        let d = random.u64(1..=REFS);
        let n = if random.f64() < together {
            d * u64::from(random.f64() < p)
        } else {
            (0..d).map(|_| u64::from(random.f64() < p)).sum()
        };
        let (wide_n, wide_d) = (u128::from(n), u128::from(d));
        sums.n += wide_n;
        sums.d += wide_d;
        sums.nn += wide_n * wide_n;
        sums.nd += wide_n * wide_d;
        sums.dd += wide_d * wide_d;
        sums.records += 1;
        sums.clusters += 1;
        sums.below += u64::from(n < d);
        sums.above_zero += u64::from(n > 0);
    }
    sums
}

#[test]
fn intervals_cover_the_truth() {
    let mut random = fastrand::Rng::with_seed(7);
    for p in [0.9, 0.98, 0.998] {
        for together in [0.0, 0.1] {
            let covers = |sums: MetricSums| {
                let (low, high) = sums.estimate(Metric::ValidityRefs).unwrap().interval.unwrap();
                low <= p && p <= high
            };
            let covered = (0..DRAWS).filter(|_| covers(draw(&mut random, p, together))).count();
            let share = covered as f64 / DRAWS as f64;
            println!("p {p}, correlation {together}: {share}");
            assert!((0.93..=0.99).contains(&share), "p {p}, correlation {together}: {share}");
        }
    }
}
