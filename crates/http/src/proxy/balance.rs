//! Which upstream a request goes to.

use super::options::Balance;
use super::upstream::ProxyUpstream;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

/// The upstreams of a proxy, and the choice among them.
pub(super) struct Balancer {
    pub(super) upstreams: Vec<Rc<ProxyUpstream>>,
    balance: Balance,
    /// Where the next choice begins.
    next: Cell<usize>,
    /// The state of a xorshift generator, which needs no secret.
    random: Cell<u64>,
}

/// The upstreams that a request was sent to, one bit for each.
#[derive(Clone, Copy, Default)]
pub(super) struct TriedUpstreams(u64);

impl TriedUpstreams {
    pub(super) fn add(&mut self, index: usize) {
        self.0 |= 1 << index;
    }

    pub(super) fn has(self, index: usize) -> bool {
        self.0 & (1 << index) != 0
    }
}

impl Balancer {
    pub(super) fn new(upstreams: Vec<Rc<ProxyUpstream>>, balance: Balance) -> Self {
        let mut seed = [0; 8];
        // Without a seed the choice is only less random.
        let _ = runnel_store::fill_random(&mut seed);
        let random = Cell::new(u64::from_ne_bytes(seed) | 1);
        Balancer { upstreams, balance, next: Cell::new(0), random }
    }

    /// A request got no answer. Returns whether its upstream rests from now on. The last upstream up
    /// never rests: no answer at all would be worse than some.
    pub(super) fn failed(&self, index: usize, now: Instant) -> bool {
        let mut others = self.upstreams.iter().enumerate().filter(|(at, _)| *at != index);
        let may_rest = others.any(|(_, other)| other.health.is_up(now));
        self.upstreams[index].health.failed(now, may_rest)
    }

    /// The upstream of a request that was not tried: the preferred one if it is up, a resting one if
    /// none is. `None` when all fail their checks or were tried.
    pub(super) fn choose(
        &self,
        tried: TriedUpstreams,
        preferred: Option<usize>,
        now: Instant,
    ) -> Option<usize> {
        let is_up = |index: usize| self.upstreams[index].health.is_up(now);
        if let Some(index) = preferred.filter(|index| !tried.has(*index) && is_up(*index)) {
            return Some(index);
        }
        let count = self.upstreams.len();
        let start = self.advance() % count;
        let all = (start..count).chain(0..start);
        let fresh = all.filter(|index| !tried.has(*index));
        let may_be_asked = |index: &usize| self.upstreams[*index].health.may_be_asked();
        let up = self.best(fresh.clone().filter(|index| is_up(*index)));
        // No upstream is left: a resting one may be up again.
        up.or_else(|| match self.upstreams.iter().any(|upstream| upstream.health.is_up(now)) {
            true => None,
            false => self.best(fresh.filter(may_be_asked)),
        })
    }

    /// The best of some upstreams.
    fn best(&self, mut fresh: impl Iterator<Item = usize>) -> Option<usize> {
        match self.balance {
            Balance::RoundRobin => fresh.next(),
            Balance::LeastConnections => fresh.min_by_key(|index| self.upstreams[*index].active()),
            Balance::Random => self.less_busy_of_two(&fresh.collect::<Vec<_>>()),
        }
    }

    /// Of two random ones the less busy.
    fn less_busy_of_two(&self, candidates: &[usize]) -> Option<usize> {
        let random = || candidates.get(self.random() % candidates.len().max(1)).copied();
        let (one, other) = (random()?, random()?);
        let active = |index: usize| self.upstreams[index].active();
        Some(if active(other) < active(one) { other } else { one })
    }

    fn advance(&self) -> usize {
        self.next.replace(self.next.get().wrapping_add(1))
    }

    fn random(&self) -> usize {
        let mut state = self.random.get();
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        self.random.set(state);
        (state >> 16) as usize
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::proxy::options::ProxyOptions;

    fn balancer(count: usize, balance: Balance) -> Balancer {
        let options = ProxyOptions { max_fails: 1, ..ProxyOptions::default() };
        let upstream = |port: usize| {
            ProxyUpstream::new(&format!("http://127.0.0.1:{port}"), &options).unwrap()
        };
        Balancer::new((1..=count).map(upstream).collect(), balance)
    }

    fn chosen(balancer: &Balancer) -> usize {
        balancer.choose(TriedUpstreams::default(), None, Instant::now()).unwrap()
    }

    #[test]
    fn round_robin_takes_one_after_the_other() {
        let balancer = balancer(3, Balance::RoundRobin);
        assert_eq!([0; 6].map(|_| chosen(&balancer)), [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn the_least_busy_upstream_is_taken() {
        let balancer = balancer(3, Balance::LeastConnections);
        let _held = [0, 0, 2].map(|index: usize| balancer.upstreams[index].start());
        assert_eq!([0; 3].map(|_| chosen(&balancer)), [1, 1, 1]);
        let balancer = self::balancer(2, Balance::Random);
        let _held: Vec<_> = (0..3).map(|_| balancer.upstreams[0].start()).collect();
        let second = (0..1000).filter(|_| chosen(&balancer) == 1).count();
        assert!((650..850).contains(&second), "{second}");
    }

    #[test]
    fn those_that_are_down_or_were_tried_are_left_out() {
        let balancer = balancer(3, Balance::RoundRobin);
        assert!(balancer.failed(1, Instant::now()));
        let mut tried = TriedUpstreams::default();
        tried.add(0);
        assert_eq!(balancer.choose(tried, None, Instant::now()), Some(2));
        assert_eq!(balancer.choose(tried, Some(0), Instant::now()), Some(2));
        tried.add(2);
        assert_eq!(balancer.choose(tried, None, Instant::now()), None);
    }

    #[test]
    fn the_last_upstream_never_rests() {
        for balance in [Balance::RoundRobin, Balance::LeastConnections, Balance::Random] {
            let balancer = balancer(3, balance);
            for index in [0, 2, 1, 1] {
                balancer.failed(index, Instant::now());
            }
            assert_eq!([0; 4].map(|_| chosen(&balancer)), [1; 4]);
            // Resting upstreams are asked when no other is left.
            balancer.upstreams[1].health.checked(false);
            let chosen = chosen(&balancer);
            assert!(chosen != 1, "{chosen}");
            for upstream in &balancer.upstreams {
                upstream.health.checked(false);
            }
            let none = balancer.choose(TriedUpstreams::default(), None, Instant::now());
            assert_eq!(none, None);
        }
        let alone = balancer(1, Balance::LeastConnections);
        for _ in 0..10 {
            assert!(!alone.failed(0, Instant::now()));
        }
        assert_eq!(chosen(&alone), 0);
    }
}
