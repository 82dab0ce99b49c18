//! A request that is refused leaves the database as it was, row by row, except for what is counted on purpose.
//!
//! It is complete by construction: the test fails when the API document has an operation that writes, or a refusal of
//! one, that is met by no request here. The tables of the database are those of its own catalogue.

mod accounts;
mod campaigns;
mod changes;
mod contacts;
mod flows;
mod limits;
mod links;
mod members;
mod projects;
mod refusal;
mod rules;
mod seen;
mod segments;
mod sending;
mod stale;
mod suppressions;
mod templates;
mod topics;
mod uploads;
mod verification;
mod workflows;
mod world;

use mailwright_testkit::{Engine, both_engines};

use self::seen::Seen;
use self::world::World;

both_engines! {
    async fn a_refusal_leaves_everything_as_it_was(engine: Engine) {
        let mut world = World::new(engine).await;
        let mut seen = Seen::new(&world).await;
        for refusals in [
            contacts::refusals(&world),
            segments::refusals(&world),
            suppressions::refusals(&world),
            templates::refusals(&world),
            topics::refusals(&world),
            uploads::refusals(&world),
            verification::refusals(&world),
            campaigns::refusals(&world),
            workflows::refusals(&world),
            sending::refusals(&world),
            projects::refusals(&world),
            members::refusals(&world),
            accounts::refusals(&world),
        ] {
            seen.check(&world, refusals).await;
        }
        stale::check(&world, &mut seen).await;
        rules::check(&world, &mut seen).await;
        limits::check_full(&world, &mut seen).await;
        workflows::check_large(&world, &mut seen).await;
        links::check(&mut world, &mut seen).await;
        limits::check_requests(&mut world, &mut seen).await;
        seen.assert_complete();
    }
}
