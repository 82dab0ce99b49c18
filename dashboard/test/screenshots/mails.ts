import { type Block, documentOf, type EmailDocument } from '../../src/editor/document.ts';
import { writeMjml } from '../../src/editor/mjml.ts';
import { inlineOf } from '../../src/editor/starters.ts';

const THEME = { accent: '#0f766e', background: '#f5f5f4' };

/** What a template or a campaign is made with. */
export interface Mail {
  subject: string;
  mjml: string;
  document: EmailDocument;
}

const text = (words: string): Block => ({ type: 'paragraph', content: inlineOf(words) });
const heading = (level: number, words: string): Block => ({ type: 'heading', attrs: { level }, content: inlineOf(words) });
const button = (words: string, href: string): Block => ({ type: 'button', attrs: { href, background: THEME.accent }, content: inlineOf(words) });
const list = (...entries: string[]): Block => ({
  type: 'bulletList',
  content: entries.map((entry) => ({ type: 'listItem', content: [text(entry)] })),
});

function mail(subject: string, preview: string, ...blocks: Block[][]): Mail {
  const sections = blocks.map((content) => ({ type: 'section' as const, content: [{ type: 'column' as const, content }] }));
  const document = documentOf(sections, THEME, preview);
  return { subject, document, mjml: writeMjml(document) };
}

export const WELCOME = mail(
  'Welcome to Fernway, {{firstName}}',
  'Three steps, and your studio takes bookings.',
  [
    heading(1, 'Your studio is almost open'),
    text('Hello {{firstName}},'),
    text('good to have you here. Three steps are left until people can book with you in {{city}}:'),
    list('Add your first class, with its time and its room', 'Choose how people pay', 'Publish your page'),
    button('Set up your studio', 'https://fernway.example/setup'),
  ],
  [{ type: 'divider' }, text('Questions? Reply to this mail, and Ines or Tom will write back today.')],
);

export const STEPS = mail(
  'Three steps to your first booking',
  'Most studios need ten minutes.',
  [
    heading(1, 'Ten minutes to your first booking'),
    text('Hello {{firstName}}, your page is not published yet. Most studios need ten minutes for it.'),
    button('Go on where you left', 'https://fernway.example/setup'),
  ],
);

export const LIVE = mail(
  'Your studio is live',
  'Share the link.',
  [
    heading(1, 'You are live'),
    text('{{firstName}}, your page can be found now. Share the link wherever people look for you.'),
    button('See your page', 'https://fernway.example/page'),
  ],
);

export const BOOKING = mail(
  'Booked: {{class}} on {{day}}',
  'See you there.',
  [heading(2, 'See you on {{day}}'), text('{{firstName}}, your place in {{class}} is booked.'), button('Show the booking', 'https://fernway.example/booking')],
);

export const RECEIPT = mail(
  'Your receipt for {{month}}',
  'Thank you.',
  [heading(2, 'Thank you'), text('We received {{amount}} for {{month}}.'), button('Download the invoice', 'https://fernway.example/invoice')],
);

export const NEWS = mail(
  'New: waiting lists, and a calendar for your team',
  'Two things that studios asked for most.',
  [
    heading(1, 'New this month'),
    text('Hello {{firstName}}, here are the two things that studios asked for most.'),
    heading(3, 'Waiting lists'),
    text('When somebody cancels, the next person gets the place and a mail, without you.'),
    button('Turn on waiting lists', 'https://fernway.example/waiting-lists'),
  ],
  [heading(3, 'A calendar for your team'), text('Everybody sees who teaches what, and swaps classes in two clicks.'), button('Open the calendar', 'https://fernway.example/calendar')],
);

export const TIPS = mail(
  'How full classes stay full',
  'What studios with a waiting list do differently.',
  [
    heading(1, 'How full classes stay full'),
    text('We looked at 200 studios whose classes are booked out. Three things they do differently.'),
    button('Read the guide', 'https://fernway.example/guide'),
  ],
);

export const AUTUMN = mail(
  'Autumn at Fernway',
  'Gift cards, and a faster check-in.',
  [heading(1, 'Autumn at Fernway'), text('Gift cards are here, in time for the holidays.'), button('Sell gift cards', 'https://fernway.example/gift-cards')],
);
