-- The plain text that a request gives for a mail. Where it gives none, the text is made from the HTML.
alter table contents add column text_body {text};
