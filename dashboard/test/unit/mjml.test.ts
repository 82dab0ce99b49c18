import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Block, documentOf, type Inline, readDocument, type SectionNode } from '../../src/editor/document.ts';
import { css } from '../../src/editor/visual/style.ts';
import { escapeAttribute, escapeText, writeMjml } from '../../src/editor/mjml.ts';

function written(blocks: Block[], section: SectionNode['attrs'] = {}): string {
  return writeMjml(documentOf([{ type: 'section', attrs: section, content: [{ type: 'column', content: blocks }] }]));
}

const text = (words: string): Inline => ({ type: 'text', text: words });

test('texts are escaped, and what the template language reads is left as it is', () => {
  assert.equal(escapeText('a < b & c > d "e"'), 'a &lt; b &amp; c &gt; d "e"');
  assert.equal(escapeText('{{name ?? "A & B"}} & {{{html}}}'), '{{name ?? "A & B"}} &amp; {{{html}}}');
  assert.equal(escapeText('{% if n < 5 %}<{% endif %}'), '{% if n &lt; 5 %}&lt;{% endif %}');
  assert.equal(escapeText('{{ open & {% shut'), '{{ open &amp; {% shut');
  assert.equal(escapeAttribute('{{url ?? "x"}}?a=1&b="2"\n'), '{{url ?? &quot;x&quot;}}?a=1&amp;b=&quot;2&quot; ');
});

test('a paragraph has its marks, and a link over several of them is one link', () => {
  const link = { type: 'link' as const, attrs: { href: 'https://a.test/?x=1&y="' } };
  const mjml = written([
    {
      type: 'paragraph',
      attrs: { align: 'center', color: '#ff0000', size: 20 },
      content: [
        text('Hi '),
        { type: 'variable', attrs: { source: '{{name ?? "friend"}}' }, marks: [{ type: 'bold' }] },
        { type: 'hardBreak' },
        { type: 'text', text: 'read ', marks: [link] },
        { type: 'text', text: 'more', marks: [{ type: 'bold' }, link] },
        { type: 'text', text: '<script>', marks: [{ type: 'color', attrs: { color: '#00ff00' } }] },
      ],
    },
  ]);
  assert.match(mjml, /<mj-text align="center" color="#ff0000" font-size="20px" padding="0px 24px 16px">/);
  assert.match(mjml, /Hi <strong>\{\{name \?\? "friend"\}\}<\/strong><br \/>/);
  assert.match(mjml, /<a href="https:\/\/a\.test\/\?x=1&amp;y=&quot;" style="color:#4338ca;text-decoration:underline">read <strong>more<\/strong><\/a>/);
  assert.match(mjml, /<span style="color:#00ff00">&lt;script&gt;<\/span>/);
});

test('what is no colour, number or address of a document is not written', () => {
  const mjml = written([
    { type: 'paragraph', attrs: { color: '"/><x' }, content: [{ type: 'text', text: 'a', marks: [{ type: 'link', attrs: { href: 'javascript:alert(1)' } }] }] },
    { type: 'button', attrs: { href: ' JavaScript:x', background: 'url(x)' }, content: [text('Go')] },
    { type: 'spacer', attrs: { height: Number.NaN } },
    { type: 'image', attrs: { src: '', alt: 'nothing' } },
    { type: 'image', attrs: { src: 'javascript:x', alt: 'nothing' } },
  ]);
  assert.doesNotMatch(mjml, /javascript|<x|url\(|NaN|mj-image/i);
  assert.match(mjml, /<mj-spacer height="0px" \/>/);
  assert.match(mjml, /<p style="margin:0">a<\/p>/);
});

test('every block is written', () => {
  const mjml = written([
    { type: 'heading', attrs: { level: 2 }, content: [text('Title')] },
    { type: 'bulletList', content: [{ type: 'listItem', content: [{ type: 'paragraph', content: [text('one')] }, { type: 'orderedList', attrs: { start: 3 }, content: [{ type: 'listItem', content: [{ type: 'paragraph', content: [text('deep')] }] }] }] }] },
    { type: 'button', attrs: { href: '{{url}}', wide: true }, content: [text('Buy & go')] },
    { type: 'image', attrs: { src: 'https://a.test/b.png', alt: 'A "cat"', width: 200, href: 'mailto:a@b.test' } },
    { type: 'divider' },
    { type: 'spacer', attrs: { height: 40 } },
    { type: 'raw', content: [text('<table><tr><td>{{x}}</td></tr></table>')] },
    { type: 'footer', content: [text('Bye')] },
    { type: 'paragraph' },
  ]);
  for (const part of [
    '<h2 style="margin:0;font-size:22px;line-height:1.25;font-weight:700">Title</h2>',
    '<ul style="margin:0;padding-left:24px"><li>one<ol start="3" style="margin:0;padding-left:24px"><li>deep</li></ol></li></ul>',
    '<mj-button href="{{url}}"',
    'width="100%">Buy &amp; go</mj-button>',
    '<mj-image src="https://a.test/b.png" alt="A &quot;cat&quot;" href="mailto:a@b.test" width="200px" align="center"',
    '<mj-divider border-color="#d4d4d8" border-width="1px"',
    '<mj-spacer height="40px" />',
    '<table><tr><td>{{x}}</td></tr></table></mj-text>',
    '<p style="margin:0">Bye</p>',
    '<p style="margin:0">&#160;</p>',
  ]) {
    assert.ok(mjml.includes(part), `${part}\nis not in\n${mjml}`);
  }
});

test('conditions and loops are tags between elements, within columns and around sections', () => {
  const inner: Block[] = [{ type: 'paragraph', content: [text('x')] }];
  const mjml = written(
    [
      {
        type: 'condition',
        content: [
          { type: 'branch', attrs: { kind: 'if', test: 'seats < 5 %} and' }, content: inner },
          { type: 'branch', attrs: { kind: 'elsif', test: 'plan == "pro"' }, content: inner },
          { type: 'branch', attrs: { kind: 'else' }, content: inner },
        ],
      },
      { type: 'loop', attrs: { item: 'row', list: 'rows limit: 3' }, content: inner },
    ],
    { showIf: 'vip', each: 'item in items' },
  );
  const tags = [...mjml.matchAll(/<mj-raw>(.*)<\/mj-raw>/g)].map((found) => found[1]);
  assert.deepEqual(tags, [
    '{% if vip %}',
    '{% for item in items %}',
    '{% if seats &lt; 5 and %}',
    '{% elsif plan == "pro" %}',
    '{% else %}',
    '{% endif %}',
    '{% for row in rows limit: 3 %}',
    '{% endfor %}',
    '{% endfor %}',
    '{% endif %}',
  ]);
});

test('the theme and the preview text are in the head, and the look is that of the same document each time', () => {
  const document = documentOf([{ type: 'section', content: [{ type: 'column', attrs: { width: 33 } }] }], { width: 640, background: '#000000' }, 'Psst <b>');
  const mjml = writeMjml(document);
  assert.match(mjml, /<mj-preview>Psst &lt;b&gt;<\/mj-preview>/);
  assert.match(mjml, /<mj-body background-color="#000000" width="640px">/);
  assert.match(mjml, /<mj-column width="33%">/);
  const stored: unknown = JSON.parse(JSON.stringify(document));
  const read = readDocument(stored);
  assert.ok(read);
  assert.equal(writeMjml(read), mjml);
});

test('documents of others are not taken for ours', () => {
  for (const other of [undefined, null, 1, [], {}, { editor: 'x', version: 1, sections: [1] }, { editor: 'mailwright', version: 2, sections: [1] }, { editor: 'mailwright', version: 1, sections: [] }, { editor: 'mailwright', version: 1, sections: [null] }, { editor: 'mailwright', version: 1, sections: [{ type: 'section', content: 'x' }] }, { editor: 'mailwright', version: 1, sections: [{ type: 'section', attrs: { top: 'x' } }] }]) {
    assert.equal(readDocument(other), undefined);
  }
});

test('names that every object has are no nodes of their own, and a style holds one value', () => {
  const document = { editor: 'mailwright', version: 1, sections: [{ type: 'constructor', attrs: { toString: 1 } }] };
  assert.ok(readDocument(document));
  const values = { 'text-align': 'left;position:fixed', padding: '8px 0 12px', color: '', flex: 'url(/auth/logout)', display: undefined };
  assert.equal(css(values), 'padding:8px 0 12px');
});
