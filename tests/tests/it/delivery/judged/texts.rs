//! What the mails say, and their files.

pub(super) const ORDER: &str = "<p>Hello Ada,</p><p>thank you for your order A-1042 from Tuesday. We have packed two bags of potting \
    soil and the blue watering can, and the parcel leaves our warehouse tomorrow morning.</p><p>You can follow it on \
    <a href=\"https://www.shop.example.com/orders/A-1042\">the page of your order</a>. If something is missing or broken, \
    answer this mail and we will sort it out.</p><p>Kind regards,<br>Your team at the Garden Shop</p>";
pub(super) const ORDER_TEXT: &str = "Hello Ada,\n\nthank you for your order A-1042 from Tuesday. We have packed two bags of potting soil \
    and the blue watering can, and the parcel leaves our warehouse tomorrow morning.\n\nYou can follow it on \
    https://www.shop.example.com/orders/A-1042. If something is missing or broken, answer this mail and we will sort it \
    out.\n\nKind regards,\nYour team at the Garden Shop\n";
pub(super) const NEWS: &str = "<h1>News from the garden</h1><p>Hello {{name ?? \"there\"}},</p><p>March is the month for sowing tomatoes, \
    peppers and basil on the window sill. In our <a href=\"https://www.shop.example.com/guides/sowing\">guide to sowing</a> \
    we write how deep the seeds should be, and how much light they need.</p><p>On Saturday the 14th we are at the market in \
    Lindenthal, with seedlings and old kinds of potatoes. Come by and have a look.</p><p>Your team at the Garden Shop</p>";
pub(super) const NEWS_MJML: &str = "<mjml><mj-body><mj-section><mj-column><mj-text>Hello {{name ?? \"there\"}},</mj-text><mj-text>March \
    is the month for sowing tomatoes, peppers and basil on the window sill. In our guide to sowing we write how deep the \
    seeds should be, and how much light they need.</mj-text><mj-button href=\"https://www.shop.example.com/guides/sowing\">\
    Read the guide</mj-button></mj-column></mj-section><mj-section><mj-column><mj-text>On Saturday we are at the market in \
    Lindenthal.</mj-text></mj-column><mj-column><mj-text>Our shop is open from nine to six.</mj-text></mj-column>\
    </mj-section></mj-body></mjml>";
/// As long as it has to be: SpamAssassin counts a picture with less than 2,800 characters against a mail.
pub(super) const GUIDE: &str = "<p>Tomatoes need about eight weeks from the seed to the day on which they can be planted outside. Who \
    sows in the middle of March has strong plants in May, when the nights are warm enough. Take small pots with holes in the \
    bottom, fill them with soil for seeds, which has little fertiliser, and press two seeds into each, about half a \
    centimetre deep. Put the pots on a bright window sill and keep the soil damp, but never wet. A lid of glass or a clear \
    bag keeps the air moist until the first leaves are there, which takes a week to ten days at twenty degrees.</p>\
    <p>When the plants have their second pair of leaves, each gets a pot of its own. Set them deeper than they stood before, \
    up to the first leaves: new roots grow from the part of the stem that is below the soil, and the plants stand better. \
    Now they need as much light as they can get, and less warmth than before. A cool bedroom with a window to the south is \
    better than the sill above the heating, where they grow long and thin.</p>\
    <p>Peppers take longer, so they should be sown first, and they like it warmer: below twenty degrees hardly any of the \
    seeds come up. Basil is easier. Its seeds need light and are only pressed on the soil, not covered. Ten to fifteen \
    plants together make a good pot for the kitchen, which is harvested from the top so that it grows in width. \
    Cold water and draughts do it harm, and in a hot summer it likes to stand in the shade at noon.</p>\
    <p>From the end of April the young plants may go outside by day, first into the shade and for an hour or two, then for \
    longer. Leaves that have only known the light behind a window burn in the sun of spring within an afternoon. After the \
    last frost, in our region in the middle of May, they go into the bed or into a large pot, at least forty centimetres \
    apart, and with a stick beside each to which it can be tied.</p>\
    <p>Water them in the morning, and the soil rather than the leaves, because wet leaves make it easy for fungi. Every two \
    weeks some fertiliser for vegetables goes into the water. The side shoots between stem and leaf are broken off while \
    they are small, since they take strength from the fruit. By the end of July the first tomatoes are ripe. If you would \
    like to know more, or have a plant that does not do well, come to the shop with a leaf or a picture of it. We look at \
    it together, and usually find out what it lacks.</p>\
    <p>Old kinds are worth the trouble. They are seldom as even as those of the market, but they taste of something, and \
    their seeds come true: wash them out of a ripe fruit, leave them in a glass of water for three days, dry them on a piece \
    of paper and write the name on it. In a dry and dark place they keep for four years at least. We have about thirty of \
    them, from small yellow ones for children to heavy ones for sauce, and every autumn we swap seeds with whoever brings \
    some.</p>";

pub(super) const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAHgAAAA8CAIAAAAiz+n/AAAAaklEQVR42u3QQQ0AAAgEoMtjOasZ0RbOBxsJSPVwIApEi0a0\
    aNEWRItGtGjRFkSLRrRo0YgWjWjRohEtGtGiRSNaNKJFi0a0aESLFo1o0YgWLRrRohEtWjSiRSNatGhEi0a0aNGIFo3oXxbIhyc9E+ZtvQAAAABJRU5ErkJggg==";
pub(super) const PDF: &str = "JVBERi0xLjQKMSAwIG9iajw8L1R5cGUvQ2F0YWxvZy9QYWdlcyAyIDAgUj4+ZW5kb2JqCjIgMCBvYmo8PC9UeXBlL1BhZ2VzL0tp\
    ZHNbMyAwIFJdL0NvdW50IDE+PmVuZG9iagozIDAgb2JqPDwvVHlwZS9QYWdlL1BhcmVudCAyIDAgUi9NZWRpYUJveFswIDAgMzAwIDMwMF0+PmVuZG9iagp0\
    cmFpbGVyPDwvUm9vdCAxIDAgUj4+CiUlRU9GCg==";
/// Terms, a table in CSV, a note in German, a date and data.
pub(super) const TERMS: &str = "VGVybXMKCkdvb2RzIGNhbiBiZSByZXR1cm5lZCB3aXRoaW4gMzAgZGF5cywgaW4gdGhlIGJveCBpbiB3aGljaCB0aGV5IGNhbWUuCg==";
pub(super) const TABLE: &str = "YXJ0aWNsZSxjb3VudApzb2lsLDIKY2FuLDEK";
pub(super) const NOTE: &str = "TGllYmUgQWRhLAoKYml0dGUgc3RlbGwgZGllIEthbm5lIGltIFdpbnRlciB0cm9ja2VuIGFiLiBEaWUgRXJkZSBow6RsdCBzaWNo\
    IGVpbiBKYWhyLCB3ZW5uIGRlciBTYWNrIGd1dCB2ZXJzY2hsb3NzZW4gaXN0Lgo=";
pub(super) const DATE: &str = "QkVHSU46VkNBTEVOREFSDQpWRVJTSU9OOjIuMA0KUFJPRElEOi0vL1Nob3AvL0VODQpNRVRIT0Q6UFVCTElTSA0KQkVHSU46VkVWRU5U\
    DQpVSUQ6MUBzaG9wLmV4YW1wbGUuY29tDQpEVFNUQU1QOjIwMzAwMTAxVDA5MDAwMFoNCkRUU1RBUlQ6MjAzMDAxMDJUMDkwMDAwWg0KU1VNTUFSWTpEZWxp\
    dmVyeQ0KRU5EOlZFVkVOVA0KRU5EOlZDQUxFTkRBUg0K";
pub(super) const DATA: &str = "eyJvcmRlciI6IkEtMTA0MiIsIml0ZW1zIjozfQ==";
