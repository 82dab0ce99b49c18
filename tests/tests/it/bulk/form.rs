//! The form of POST /contacts/import, and who may ask for a job.

use mailwright_testkit::{App, Engine, both_engines, one_engine};
use mailwright_tests::{UNKNOWN_ID, as_project, assert_envelope, create_contact, shown, text};
use serde_json::json;

use super::{BOUNDARY, bulk_path, counts, csv_part, finished, import_path, imported, part, queued, total};
use super::{upload, with_form};

const LIMIT: usize = 5 * 1024 * 1024;

/// A file of exactly so many bytes with one row.
fn file_of(size: usize) -> Vec<u8> {
    let mut file = b"email\na@example.com\n".to_vec();
    file.resize(size, b'\n');
    file
}

both_engines! {
    async fn a_file_is_recognised_by_type_or_name(engine: Engine) {
        let app = App::start(engine).await;
        let csv = b"email\na@example.com\n";
        let disposition = "Content-Disposition: form-data; name=\"file\"";
        for headers in [
            format!("{disposition}; filename=\"people.csv\"\r\nContent-Type: text/csv"),
            format!("{disposition}; filename=\"PEOPLE.CSV\"\r\nContent-Type: application/octet-stream"),
            format!("{disposition}; filename=\"people.csv\"\r\nContent-Type: application/vnd.ms-excel"),
            format!("{disposition}; filename=\"people\"\r\nContent-Type: text/csv; charset=utf-8"),
            format!("{disposition}; filename=\"people.csv\""),
        ] {
            let other = part("Content-Disposition: form-data; name=\"note\"", b"hello");
            let form = with_form(app.post("/contacts/import"), &[other, part(&headers, csv)]);
            let job = queued(&form.send().await);
            assert_eq!(finished(&app, &import_path(&job)).await["state"], "completed", "{headers}");
        }
        for headers in [
            format!("{disposition}; filename=\"people.txt\"\r\nContent-Type: text/plain"),
            format!("{disposition}; filename=\"people.xlsx\"\r\nContent-Type: application/octet-stream"),
        ] {
            let answer = with_form(app.post("/contacts/import"), &[part(&headers, csv)]).send().await;
            assert_eq!(assert_envelope(&answer, 400), "BAD_REQUEST");
        }
        assert_eq!(total(&app).await, 1);
    }

    async fn a_job_is_seen_by_its_project_and_where_it_belongs(engine: Engine) {
        let app = App::start(engine).await;
        let other = app.bootstrap("Neighbour", "neighbour.example").await;
        let import = queued(&upload(&app, "email\na@example.com\n").await);
        finished(&app, &import_path(&import)).await;
        let b = create_contact(&app, "b@example.com", true, json!({})).await;
        let ids = json!({"contactIds": [b["id"]]});
        let bulk = queued(&app.post("/contacts/bulk-unsubscribe").json(&ids).send().await);
        finished(&app, &bulk_path(&bulk)).await;

        for (path, fine) in [(import_path(&import), true), (bulk_path(&bulk), true), (import_path(&bulk), false), (bulk_path(&import), false)] {
            let answer = app.get(&path).send().await;
            if fine {
                let answer = answer.assert_status(200);
                for hidden in ["a@example.com", "YUBleGFtcGxl", "data"] {
                    assert!(!answer.text().contains(hidden), "{}", shown(&answer));
                }
            } else {
                assert_eq!(assert_envelope(&answer, 404), "RESOURCE_NOT_FOUND");
            }
            assert_eq!(assert_envelope(&as_project(&app, &other, "GET", &path).send().await, 404), "RESOURCE_NOT_FOUND");
            app.request("GET", &path).bearer(app.public_key()).send().await.assert_error(401, "INVALID_API_KEY");
        }
        for unknown in [UNKNOWN_ID, "nothing", "1", text(&b["id"])] {
            assert_eq!(assert_envelope(&app.get(&import_path(unknown)).send().await, 404), "RESOURCE_NOT_FOUND");
            assert_eq!(assert_envelope(&app.get(&bulk_path(unknown)).send().await, 404), "RESOURCE_NOT_FOUND");
        }
    }
}

one_engine! {
    async fn without_a_file_the_answer_is_400(engine: Engine) {
        let app = App::start(engine).await;
        let post = || app.post("/contacts/import");
        let other = part("Content-Disposition: form-data; name=\"other\"; filename=\"c.csv\"", b"email\na@b.co\n");
        for request in [
            post(),
            post().json(&json!({"file": "email"})),
            post().body("email\na@b.co\n", "text/csv"),
            post().body("x", "multipart/form-data"),
            with_form(post(), &[]),
            with_form(post(), &[other]),
        ] {
            assert_eq!(assert_envelope(&request.send().await, 400), "BAD_REQUEST");
        }
        let cut = csv_part(b"email\na@b.co\n");
        let broken = post().body(cut[..cut.len() - 2].to_vec(), &format!("multipart/form-data; boundary={BOUNDARY}"));
        assert_eq!(assert_envelope(&broken.send().await, 400), "BAD_REQUEST");
        app.request("POST", "/contacts/import").send().await.assert_error(401, "MISSING_AUTH");
        let public = app.request("POST", "/contacts/import").bearer(app.public_key());
        with_form(public, &[csv_part(b"email\na@b.co\n")]).send().await.assert_error(401, "INVALID_API_KEY");
        assert_eq!(total(&app).await, 0);
    }

    async fn a_file_has_at_most_5_mb(engine: Engine) {
        let app = App::start(engine).await;
        assert_eq!(counts(&imported(&app, file_of(LIMIT)).await), [1, 1, 0, 0]);
        for size in [LIMIT + 1, LIMIT + 200_000, 20 * 1024 * 1024] {
            let answer = upload(&app, file_of(size)).await;
            assert_eq!(assert_envelope(&answer, 413), "PAYLOAD_TOO_LARGE", "{size}");
        }
    }
}
