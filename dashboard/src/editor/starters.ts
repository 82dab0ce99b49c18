import { type Block, type ColumnNode, documentOf, type EmailDocument, type Inline, type SectionNode } from './document.ts';
import { pieces } from './liquid.ts';

/** A text of a starter, whose placeholders become chips. */
export function inlineOf(text: string, href?: string): Inline[] {
  const marks = href ? [{ type: 'link' as const, attrs: { href } }] : [];
  return pieces(text).map((piece) =>
    piece.kind === 'output'
      ? { type: 'variable', attrs: { source: piece.text }, marks }
      : { type: 'text', text: piece.text, marks },
  );
}

const column = (content: Block[], width = 0): ColumnNode => ({ type: 'column', attrs: { width }, content });
const section = (content: Block[], attrs: SectionNode['attrs'] = {}): SectionNode => ({
  type: 'section',
  attrs,
  content: [column(content)],
});
const text = (words: string, attrs: Extract<Block, { type: 'paragraph' }>['attrs'] = {}): Block => ({
  type: 'paragraph',
  attrs,
  content: inlineOf(words),
});
const heading = (level: number, words: string): Block => ({ type: 'heading', attrs: { level }, content: inlineOf(words) });
const button = (words: string, href: string): Block => ({ type: 'button', attrs: { href }, content: inlineOf(words) });
const divider: Block = { type: 'divider' };

/** The words of the starters, in the language of who uses them. */
export interface StarterWords {
  hello: string;
  welcomeTitle: string;
  welcomeText: string;
  welcomeButton: string;
  welcomeHelp: string;
  welcomeSubject: string;
  newsTitle: string;
  newsIntro: string;
  newsFirst: string;
  newsSecond: string;
  newsText: string;
  newsButton: string;
  newsSubject: string;
  receiptTitle: string;
  receiptText: string;
  receiptTotal: string;
  receiptButton: string;
  receiptSubject: string;
  noteText: string;
  noteSign: string;
  noteSubject: string;
}

/** What a new template can begin with. */
export interface Starter {
  id: 'blank' | 'welcome' | 'newsletter' | 'receipt' | 'note';
  type: 'TRANSACTIONAL' | 'MARKETING';
  subject: string;
  document: EmailDocument;
}

/** A footer with a link to unsubscribe, for mails that get none from the service. */
export function footerOf(words: { why: string; unsubscribe: string }): Block {
  return { type: 'footer', content: [...inlineOf(`${words.why} `), ...inlineOf(words.unsubscribe, '{{unsubscribeUrl}}')] };
}

/** The starters, in the order in which they are offered. */
export function startersOf(words: StarterWords): Starter[] {
  const card = (title: string): ColumnNode =>
    column([heading(3, title), text(words.newsText), button(words.newsButton, 'https://example.com')], 50);
  return [
    { id: 'blank', type: 'MARKETING', subject: '', document: documentOf([section([{ type: 'paragraph' }])]) },
    {
      id: 'welcome',
      type: 'TRANSACTIONAL',
      subject: words.welcomeSubject,
      document: documentOf([
        section([
          heading(1, words.welcomeTitle),
          text(words.hello),
          text(words.welcomeText),
          button(words.welcomeButton, 'https://example.com'),
          text(words.welcomeHelp),
        ]),
      ]),
    },
    {
      id: 'newsletter',
      type: 'MARKETING',
      subject: words.newsSubject,
      document: documentOf([
        section([heading(1, words.newsTitle), text(words.hello), text(words.newsIntro), divider]),
        { type: 'section', attrs: { top: 0 }, content: [card(words.newsFirst), card(words.newsSecond)] },
      ]),
    },
    {
      id: 'receipt',
      type: 'TRANSACTIONAL',
      subject: words.receiptSubject,
      document: documentOf([
        section([heading(1, words.receiptTitle), text(words.hello), text(words.receiptText), divider], { bottom: 0 }),
        {
          type: 'section',
          attrs: { each: 'item in items', top: 0, bottom: 0 },
          content: [
            column([text('{{item.name}}')], 70),
            column([text('{{item.price}}', { align: 'right' })], 30),
          ],
        },
        section([
          { type: 'divider', attrs: { bottom: 16 } },
          text(`${words.receiptTotal} {{total}}`, { align: 'right' }),
          button(words.receiptButton, '{{orderUrl}}'),
        ], { top: 0 }),
      ]),
    },
    {
      id: 'note',
      type: 'MARKETING',
      subject: words.noteSubject,
      document: documentOf([section([text(words.hello), text(words.noteText), text(words.noteSign)])], {
        background: '#ffffff',
        font: 'system',
      }),
    },
  ];
}

/** What a mail that is written as HTML begins with. */
export const blankHtml = ({ hello }: Pick<StarterWords, 'hello'>): string => `<!doctype html>
<html>
  <head>
    <meta charset="utf-8">
  </head>
  <body>
    <p>${hello}</p>
  </body>
</html>
`;
