//! The bytes of a file: encodings, line ends, quotes, ragged rows.

use mailwright_testkit::{App, Engine, both_engines};
use mailwright_tests::contact_by_email;
use serde_json::{Value, json};

use super::{counts, imported, refused, total};

async fn data_of(app: &App, email: &str) -> Value {
    contact_by_email(app, email).await.unwrap_or_else(|| panic!("no contact {email}"))["data"].clone()
}

both_engines! {
    async fn utf8_is_read_with_and_without_a_mark(engine: Engine) {
        let app = App::start(engine).await;
        let rows = "email,Straße,名前\nann@example.com,Öster 1 🎉,花子\nx@bücher.example,é,\n";
        for csv in [rows.to_owned(), format!("\u{feff}{rows}"), format!("\u{feff}{}", rows.replace("email", "\"email\""))] {
            assert_eq!(counts(&imported(&app, &csv).await)[0], 2);
            assert_eq!(data_of(&app, "ann@example.com").await, json!({"straße": "Öster 1 🎉", "名前": "花子"}));
        }
        assert_eq!(data_of(&app, "x@xn--bcher-kva.example").await, json!({"straße": "é"}));
        assert_eq!(total(&app).await, 2);
    }

    async fn what_is_not_utf8_is_refused_as_a_whole(engine: Engine) {
        let app = App::start(engine).await;
        let latin1 = b"email,name\nann@example.com,Ann\nb@example.com,J\xf6rg\n";
        let utf16: Vec<u8> = "\u{feff}email\na@example.com\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let cut = "email,name\na@example.com,ö".as_bytes();
        for (file, line) in [(&latin1[..], "line 3"), (&utf16, "line 1"), (&cut[..cut.len() - 1], "line 2")] {
            let reason = refused(&app, file).await;
            assert!(reason.contains("UTF-8") && reason.contains(line), "{reason}");
        }
        assert_eq!(total(&app).await, 0);
    }

    async fn quotes_line_ends_and_ragged_rows(engine: Engine) {
        let app = App::start(engine).await;
        let csv = "email,name,note\r\n\
            \"quoted@example.com\",\"O\"\"Neil, Ann\",\"two\r\nlines\"\r\n\
            \r\n\
            short@example.com\r\n\
            long@example.com,Long,note,extra,cells\r\n\
            open@example.com,in \"the\" middle,\r\n\
            last@example.com,Last,no line end";
        assert_eq!(counts(&imported(&app, csv).await), [5, 5, 0, 0]);
        assert_eq!(data_of(&app, "quoted@example.com").await, json!({"name": "O\"Neil, Ann", "note": "two\r\nlines"}));
        assert_eq!(data_of(&app, "short@example.com").await, json!({}));
        assert_eq!(data_of(&app, "long@example.com").await, json!({"name": "Long", "note": "note"}));
        assert_eq!(data_of(&app, "open@example.com").await, json!({"name": "in \"the\" middle"}));
        assert_eq!(data_of(&app, "last@example.com").await, json!({"name": "Last", "note": "no line end"}));
        assert_eq!(counts(&imported(&app, "email,name\rcr@example.com,Old\r").await), [1, 1, 0, 0]);
    }

    async fn what_a_database_cannot_store_is_a_failed_row(engine: Engine) {
        let app = App::start(engine).await;
        let long = "x".repeat(300 * 1024);
        let open = format!("\"never closed, {}", "and on\n".repeat(200));
        let csv = format!("email,note\nnul@example.com,a\0b\nlong@example.com,{long}\nfine@example.com,y\nopen@example.com,{open}");
        let result = imported(&app, &csv).await;
        // what stands behind the mark that is not closed is read as rows
        assert_eq!(counts(&result), [4 + 199, 1, 0, 3 + 199]);
        assert_eq!(result["errors"][0]["row"], 2);
        assert_eq!(result["errors"][1]["email"], "long@example.com");
        assert_eq!(result["errors"][2]["row"], 5);
        assert_eq!(total(&app).await, 1);
    }
}
