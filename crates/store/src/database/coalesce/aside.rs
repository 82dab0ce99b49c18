//! Which operations run together, and which are set aside.

use std::collections::{HashSet, VecDeque};

use mailwright_core::ids::ProjectNumber;

use super::call::{Call, Turn};

/// Most operations of one group.
pub(super) const GROUP: usize = 512;
/// Most bytes of one group, except that a large operation is one by itself.
pub(super) const GROUP_BYTES: usize = 4 * 1024 * 1024;

/// The calls that later calls have to wait for: those of the same route, and those of the same project that are held
/// up.
#[derive(Debug, Default)]
struct Before {
    routes: HashSet<u64>,
    projects: HashSet<ProjectNumber>,
}

impl Before {
    fn add(&mut self, turn: Turn) {
        self.routes.insert(turn.route);
        if turn.is_held_up {
            self.projects.insert(turn.project);
        }
    }

    fn is_before(&self, turn: Turn) -> bool {
        self.routes.contains(&turn.route) || self.projects.contains(&turn.project)
    }
}

/// Operations that wait for a turn of their own, because they are large or met what another transaction holds, or have
/// to come after one of these: each project's in their order, one project after the other.
pub(super) struct Aside<O, R>(pub(super) VecDeque<(ProjectNumber, VecDeque<Call<O, R>>)>);

impl<O, R> Aside<O, R> {
    pub(super) fn put(&mut self, call: Call<O, R>) {
        let project = call.project();
        match self.0.iter_mut().find(|(of, _)| *of == project) {
            Some((_, calls)) => calls.push_back(call),
            None => self.0.push_back((project, VecDeque::from([call]))),
        }
    }

    /// Puts calls behind the others of their projects, but before those of their routes, which came later.
    pub(super) fn put_back(&mut self, back: Vec<Call<O, R>>) {
        let routes: HashSet<u64> = back.iter().map(|call| call.route).collect();
        let mut after = Vec::new();
        for (_, calls) in &mut self.0 {
            let (later, others): (Vec<_>, Vec<_>) =
                calls.drain(..).partition(|call| routes.contains(&call.route));
            calls.extend(others);
            after.extend(later);
        }
        back.into_iter().chain(after).for_each(|call| self.put(call));
    }

    /// The next large one, or small ones of one project; none when there are none.
    pub(super) fn next(&mut self) -> Vec<Call<O, R>> {
        let Some((project, mut calls)) = self.0.pop_front() else { return Vec::new() };
        let (mut bytes, mut count) = (0, 0);
        for load in calls.iter().map(|call| call.load.load) {
            bytes += load.bytes;
            if count > 0 && (count == GROUP || load.is_large() || bytes > GROUP_BYTES) {
                break;
            }
            count += 1;
            if load.is_large() {
                break;
            }
        }
        let rest = calls.split_off(count);
        if !rest.is_empty() {
            self.0.push_back((project, rest));
        }
        calls.into()
    }

    fn turns(&self) -> impl Iterator<Item = Turn> {
        self.0.iter().flat_map(|(_, calls)| calls.iter().map(Call::turn))
    }
}

/// Cuts calls into groups of a bounded size. Large ones are set aside, and so is what has to come after one of them.
pub(super) fn groups<O, R>(
    calls: &mut Vec<Call<O, R>>,
    aside: &mut Aside<O, R>,
    running: &[Turn],
) -> Vec<Vec<Call<O, R>>> {
    let mut before = Before::default();
    aside.turns().chain(running.iter().copied()).for_each(|turn| before.add(turn));
    let mut groups = Vec::new();
    let (mut group, mut bytes) = (Vec::with_capacity(calls.len()), 0);
    for call in calls.drain(..) {
        let load = call.load.load;
        if load.is_large() || before.is_before(call.turn()) {
            before.add(call.turn());
            aside.put(call);
            continue;
        }
        if !group.is_empty() && bytes + load.bytes > GROUP_BYTES {
            groups.push(std::mem::take(&mut group));
            bytes = 0;
        }
        bytes += load.bytes;
        group.push(call);
    }
    if !group.is_empty() {
        groups.push(group);
    }
    groups
}
