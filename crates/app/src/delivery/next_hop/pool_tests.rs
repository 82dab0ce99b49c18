use proptest::prelude::*;

use super::*;

/// A mail of each of a thousand projects.
const MANY: Waiting = Waiting { mails: 1000, newcomers: 1000 };

fn rules(configured: usize) -> Rules {
    let pauses =
        |first, longest| Pauses { first: Duration::from_secs(first), longest: Duration::from_secs(longest) };
    Rules { configured, growth: pauses(1, 600), outage: pauses(1, 30), refusal: pauses(120, 1800) }
}

fn at(seconds: u64) -> Timestamp {
    Timestamp(0).plus(Duration::from_secs(seconds))
}

/// A pool at a next hop that takes `takes` connections.
struct Sketch {
    pool: Pool,
    takes: usize,
    refused: usize,
}

impl Sketch {
    fn new(configured: usize, takes: usize) -> Self {
        Self { pool: Pool::new(rules(configured)), takes, refused: 0 }
    }

    /// Opens whatever may be opened; how many were tried.
    fn fill(&mut self, now: Timestamp) -> usize {
        let mut tried = 0;
        loop {
            let mut batch = Vec::new();
            while let Ask::Open(purpose) = self.pool.ask(MANY, now) {
                batch.push(purpose);
            }
            if batch.is_empty() {
                return tried;
            }
            tried += batch.len();
            for purpose in batch {
                if self.pool.open() < self.takes {
                    self.pool.opened(purpose, now);
                } else {
                    self.refused += 1;
                    self.pool.refused(purpose, Trouble::Unreachable, now);
                }
            }
            if self.pool.open() > 0 {
                self.pool.worked();
            }
        }
    }
}

#[test]
fn the_limit_is_what_the_next_hop_takes() {
    for takes in [1, 5, 10, 20, 31] {
        let mut sketch = Sketch::new(32, takes);
        sketch.fill(at(0));
        assert_eq!((sketch.pool.allowed(), sketch.pool.open()), (takes, takes));
        assert_eq!(sketch.pool.trouble(), None, "{takes} work");
    }
}

#[test]
fn a_limit_is_tried_again_ever_more_rarely() {
    let mut sketch = Sketch::new(32, 5);
    sketch.fill(at(0));
    sketch.refused = 0;
    for second in 1..=3600 {
        sketch.fill(at(second));
    }
    assert_eq!((sketch.pool.allowed(), sketch.pool.open()), (5, 5));
    assert!((10..=16).contains(&sketch.refused), "{} refused in an hour", sketch.refused);
}

#[test]
fn a_limit_that_was_lifted_is_outgrown() {
    let mut sketch = Sketch::new(32, 5);
    sketch.fill(at(0));
    sketch.takes = 100;
    for second in 1..=40 {
        sketch.fill(at(second));
    }
    assert_eq!((sketch.pool.allowed(), sketch.pool.open()), (32, 32));
}

#[test]
fn a_stale_limit_heals() {
    let mut sketch = Sketch::new(32, 32);
    sketch.pool.restore(3);
    for second in 0..=40 {
        sketch.fill(at(second));
    }
    assert_eq!(sketch.pool.open(), 32);
    sketch.pool.restore(0);
    assert_eq!(sketch.pool.allowed(), 32, "what is open counts");
}

#[test]
fn the_breaker_opens_when_nothing_works_and_lets_one_try() {
    let mut sketch = Sketch::new(32, 0);
    assert_eq!(sketch.fill(at(0)), 1);
    assert_eq!(sketch.pool.trouble(), Some(Trouble::Unreachable));
    assert_eq!(sketch.pool.rests(at(0)), Some(Duration::from_secs(1)));
    assert_eq!(sketch.pool.ask(MANY, at(0)), Ask::Wait(Some(at(1))));
    assert_eq!(sketch.pool.ask(Waiting::default(), at(1)), Ask::Open(Purpose::Serve), "also without mail");
    assert_eq!(sketch.pool.ask(MANY, at(1)), Ask::Wait(None), "one try at a time");
    sketch.pool.refused(Purpose::Serve, Trouble::Unreachable, at(1));
    assert_eq!(sketch.pool.rests(at(1)), Some(Duration::from_secs(2)));
    let tried: usize = (2..=600).map(|second| sketch.fill(at(second))).sum();
    assert!((20..=25).contains(&tried), "{tried} tries in ten minutes");
    sketch.takes = 100;
    sketch.fill(at(700));
    assert_eq!((sketch.pool.trouble(), sketch.pool.open()), (None, 32));
}

#[test]
fn connections_come_back_gradually() {
    let mut pool = Pool::new(rules(32));
    let mut waves = Vec::new();
    while pool.open() < 32 {
        let mut wave = 0;
        while let Ask::Open(Purpose::Serve) = pool.ask(MANY, at(0)) {
            wave += 1;
        }
        (0..wave).for_each(|_| pool.opened(Purpose::Serve, at(0)));
        waves.push(wave);
    }
    assert_eq!(waves, [1, 1, 2, 4, 8, 16]);
}

#[test]
fn an_outage_is_not_taken_for_a_limit() {
    let mut sketch = Sketch::new(32, 32);
    sketch.fill(at(0));
    sketch.takes = 0;
    // they break one after the other, and each is tried to be replaced
    for _ in 0..32 {
        sketch.pool.closed();
        if let Ask::Open(purpose) = sketch.pool.ask(MANY, at(1)) {
            sketch.pool.refused(purpose, Trouble::Unreachable, at(1));
        }
    }
    assert_eq!((sketch.pool.trouble(), sketch.pool.allowed()), (Some(Trouble::Unreachable), 32));
    sketch.takes = 32;
    sketch.fill(at(10));
    assert_eq!(sketch.pool.open(), 32);
}

#[test]
fn a_refused_login_is_repeated_after_minutes() {
    let mut pool = Pool::new(rules(32));
    let mut logins = 0;
    for second in 0..3600 {
        while let Ask::Open(purpose) = pool.ask(MANY, at(second)) {
            logins += 1;
            pool.refused(purpose, Trouble::Login, at(second));
        }
    }
    // at 0, 2, 6, 14 and 30 minutes, and half an hour later the next
    assert_eq!(logins, 5);
    // with others that work it is the same
    let mut sketch = Sketch::new(32, 5);
    sketch.fill(at(0));
    assert_eq!(sketch.pool.ask(MANY, at(1)), Ask::Open(Purpose::Grow));
    sketch.pool.refused(Purpose::Grow, Trouble::Login, at(1));
    assert!(matches!(sketch.pool.ask(MANY, at(2)), Ask::Wait(Some(until)) if until >= at(121)));
}

#[test]
fn a_project_leaves_connections_to_those_that_have_none() {
    for (takes, most) in [(1, 1), (2, 1), (3, 2), (5, 4), (8, 7), (10, 8), (32, 28)] {
        let mut sketch = Sketch::new(32, takes);
        sketch.fill(at(0));
        let pool = &mut sketch.pool;
        let [first, second, third] = [1, 2, 3].map(ProjectNumber);
        let fill = |pool: &mut Pool, project| {
            let before = pool.held_by(project);
            while pool.busy.iter().sum::<usize>() < takes && pool.has_room_for(Lane::Transactional, project) {
                pool.begin(Lane::Transactional, project);
            }
            pool.held_by(project) - before
        };
        assert_eq!(fill(pool, first), most, "of {takes}");
        if takes > 1 {
            assert_eq!(fill(pool, second), 1, "of {takes}, one that has none has room");
        }
        pool.end(Lane::Transactional, first);
        assert_eq!(fill(pool, third), 1, "of {takes}");
        // alone, it has all
        (0..most.saturating_sub(1)).for_each(|_| pool.end(Lane::Transactional, first));
        for project in [second, third] {
            pool.end(Lane::Transactional, project);
        }
        pool.busy = [0; 3];
        pool.held.clear();
        pool.last = None;
        pool.set_alone(true);
        assert_eq!(fill(pool, first), takes);
    }
}

#[test]
fn a_project_leaves_connections_of_a_lane_to_those_that_have_none() {
    let mut sketch = Sketch::new(32, 32);
    sketch.fill(at(0));
    let pool = &mut sketch.pool;
    let [first, second] = [1, 2].map(ProjectNumber);
    pool.begin(Lane::Campaign, second);
    pool.end(Lane::Campaign, second);
    let fill = |pool: &mut Pool, lane, project| {
        while pool.lanes().contains(&lane) && pool.has_room_for(lane, project) {
            pool.begin(lane, project);
        }
        pool.held_by(project)
    };
    assert_eq!(fill(pool, Lane::Campaign, first), 21, "of 24");
    assert_eq!(fill(pool, Lane::Campaign, second), 1);
    assert_eq!(fill(pool, Lane::Workflow, first), 23, "of 28 for both");
    assert!(pool.lanes().contains(&Lane::Workflow));
}

/// Has one project send over whatever connections are opened for its mail.
fn one_project_sends(pool: &mut Pool, takes: usize, now: Timestamp) {
    let project = ProjectNumber(1);
    loop {
        while pool.held_by(project) > 0 {
            pool.end(Lane::Transactional, project);
        }
        while pool.busy() < pool.open() && pool.has_room_for(Lane::Transactional, project) {
            pool.begin(Lane::Transactional, project);
        }
        let newcomers = usize::from(pool.held_by(project) == 0);
        let Ask::Open(purpose) = pool.ask(Waiting { mails: 1000, newcomers }, now) else { return };
        if pool.open() < takes {
            pool.opened(purpose, now);
        } else {
            pool.refused(purpose, Trouble::Unreachable, now);
        }
        pool.worked();
    }
}

#[test]
fn no_connection_is_opened_that_a_project_leaves_to_others() {
    let mut pool = Pool::new(rules(32));
    one_project_sends(&mut pool, 100, at(0));
    assert_eq!((pool.open(), pool.busy()), (28, 28));
    let with_another = Waiting { mails: 1001, newcomers: 1 };
    assert_eq!(pool.ask(with_another, at(0)), Ask::Open(Purpose::Serve));
    assert_eq!(pool.ask(with_another, at(0)), Ask::Wait(None), "one for one that has none");

    // of what is known to be taken as well, until it is time to find out whether it is more
    let mut pool = Pool::new(rules(32));
    one_project_sends(&mut pool, 10, at(0));
    assert_eq!((pool.allowed(), pool.busy()), (10, 8));
    while pool.open() > pool.busy() {
        pool.closed();
    }
    assert_eq!(pool.ask(Waiting { mails: 1000, newcomers: 0 }, at(0)), Ask::Wait(Some(at(1))));
    for second in 1..60 {
        one_project_sends(&mut pool, 100, at(second));
    }
    assert_eq!((pool.allowed(), pool.busy()), (32, 28));
}

#[test]
fn urgent_lanes_have_capacity_of_their_own_within_what_is_allowed() {
    for (takes, campaigns, both) in [(32, 24, 28), (16, 12, 14), (10, 8, 9), (8, 6, 7), (5, 5, 5), (1, 1, 1)]
    {
        let mut sketch = Sketch::new(32, takes);
        sketch.fill(at(0));
        let pool = &mut sketch.pool;
        let mut begun = [0, 0];
        for (count, lane) in begun.iter_mut().zip([Lane::Campaign, Lane::Workflow]) {
            while pool.busy.iter().sum::<usize>() < takes && pool.lanes().contains(&lane) {
                pool.begin(lane, ProjectNumber(1));
                *count += 1;
            }
        }
        assert_eq!((begun[0], begun[0] + begun[1]), (campaigns, both), "of {takes}");
        assert!(pool.lanes().contains(&Lane::Transactional));
    }
}

proptest! {
    /// Whatever happens, the counts hold, the breaker is open only when nothing works, and once a next hop takes some
    /// connections again, all of them are used.
    #[test]
    fn it_always_recovers(
        configured in 1usize..40,
        steps in prop::collection::vec((0usize..45, 0u8..4, 0u64..40), 1..60),
        finally in 1usize..45,
    ) {
        let mut sketch = Sketch::new(configured, finally);
        let mut second = 0;
        for (takes, event, pause) in steps {
            second += pause;
            sketch.takes = takes;
            match event {
                0 => while sketch.pool.open() > takes { sketch.pool.closed() },
                1 => (0..sketch.pool.open()).for_each(|_| sketch.pool.closed()),
                2 => sketch.pool.restore(takes),
                _ => {}
            }
            sketch.fill(at(second));
            let pool = &sketch.pool;
            prop_assert_eq!(pool.opening, 0);
            prop_assert!(pool.open <= configured);
            prop_assert!((1..=configured).contains(&pool.limit), "{:?}", pool);
            prop_assert!(pool.trouble().is_none() || pool.open == 0, "{:?}", pool);
        }
        sketch.takes = finally;
        while sketch.pool.open() > finally {
            sketch.pool.closed();
        }
        for _ in 0..100 {
            second += 600;
            sketch.fill(at(second));
        }
        prop_assert_eq!(sketch.pool.open(), finally.min(configured));
        prop_assert_eq!(sketch.pool.trouble(), None);
    }
}
