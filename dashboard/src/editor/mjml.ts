import {
  type Attrs,
  attrsOf,
  type Block,
  type ColumnNode,
  type EmailDocument,
  FONTS,
  type Inline,
  type ListItemNode,
  type Mark,
  type Room,
  type SectionNode,
  type Theme,
} from './document.ts';
import { expression, pieces } from './liquid.ts';

/**
 * Writes a document as MJML. The template language goes through as it was written, but for `<` in it, which XML does not
 * allow (and quotes in attributes): the service reads both forms alike.
 */
export function writeMjml(document: EmailDocument): string {
  const { theme } = document;
  const head = [
    ...(document.preview.trim() ? [`<mj-preview>${escapeText(document.preview.trim())}</mj-preview>`] : []),
    '<mj-attributes>',
    `  ${element('mj-all', { 'font-family': FONTS[theme.font] })}`,
    `  ${element('mj-text', { color: color(theme.color), 'font-size': '16px', 'line-height': '1.5', padding: '0' })}`,
    '</mj-attributes>',
  ];
  const body = document.sections.flatMap((section) => sectionLines(section, theme));
  return [
    '<mjml>',
    '  <mj-head>',
    ...indented(indented(head)),
    '  </mj-head>',
    `  ${start('mj-body', { 'background-color': color(theme.background), width: px(theme.width) })}`,
    ...indented(indented(body)),
    '  </mj-body>',
    '</mjml>',
    '',
  ].join('\n');
}

/** A text for the content of an element. */
export function escapeText(text: string): string {
  return pieces(text)
    .map((piece) =>
      piece.kind === 'text'
        ? piece.text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
        : piece.text.replaceAll('<', '&lt;'),
    )
    .join('');
}

/** A text for the value of an attribute. */
export function escapeAttribute(text: string): string {
  return escapeText(text).replaceAll('"', '&quot;').replaceAll(/[\r\n\t]+/g, ' ');
}

type Values = Record<string, string | undefined>;

function start(name: string, values: Values = {}, end = ''): string {
  const written = Object.entries(values).map(([key, value]) =>
    value === undefined ? '' : ` ${key}="${escapeAttribute(value)}"`,
  );
  return `<${name}${written.join('')}${end}>`;
}

function element(name: string, values: Values, content?: string): string {
  return content === undefined ? start(name, values, ' /') : `${start(name, values)}${content}</${name}>`;
}

function indented(lines: readonly string[]): string[] {
  return lines.map((one) => `  ${one}`);
}

/** A line of the template language between elements. */
function tag(text: string): string {
  return `<mj-raw>${escapeText(`{% ${text} %}`)}</mj-raw>`;
}

function color(value: string): string | undefined {
  return /^#[0-9a-f]{6}$/i.test(value) ? value : undefined;
}

function px(value: number): string {
  return `${Math.max(0, Math.round(Number(value) || 0))}px`;
}

function padding({ top, bottom, sides }: Room): string {
  return `${px(top)} ${px(sides)} ${px(bottom)}`;
}

const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const ALLOWED = /^(https?|mailto|tel|sms):/i;
/** A picture that comes with the mail. */
const WITHIN = /^(data:image\/|cid:)/i;

/** An address that a mail may link to: nothing that runs. */
function address(href: string): string | undefined {
  const trimmed = href.trim();
  if (trimmed === '' || (SCHEME.test(trimmed) && !ALLOWED.test(trimmed))) return undefined;
  return trimmed;
}

function sectionLines(node: SectionNode, theme: Theme): string[] {
  const { background, top, bottom, fullWidth, showIf, each } = attrsOf(node);
  const columns = node.content ?? [];
  const values = {
    'background-color': color(background) ?? color(theme.surface),
    padding: `${px(top)} 0 ${px(bottom)}`,
    'full-width': fullWidth ? 'full-width' : undefined,
  };
  let lines = [
    start('mj-section', values),
    ...indented(columns.flatMap((column) => columnLines(column, theme))),
    '</mj-section>',
  ];
  if (expression(each)) lines = [tag(`for ${expression(each)}`), ...lines, tag('endfor')];
  if (expression(showIf)) lines = [tag(`if ${expression(showIf)}`), ...lines, tag('endif')];
  return lines;
}

function columnLines(node: ColumnNode, theme: Theme): string[] {
  const { width, background, vertical } = attrsOf(node);
  const values = {
    width: width > 0 && width <= 100 ? `${width}%` : undefined,
    'background-color': color(background),
    'vertical-align': vertical === 'top' ? undefined : vertical,
  };
  return [start('mj-column', values), ...indented(blocks(node.content, theme)), '</mj-column>'];
}

function blocks(nodes: readonly Block[] | undefined, theme: Theme): string[] {
  return (nodes ?? []).flatMap((node) => blockLines(node, theme));
}

/** An empty line has a height of its own, as it has in the editor. */
const BLANK = '&#160;';
const HEADINGS = [28, 22, 18] as const;

function blockLines(node: Block, theme: Theme): string[] {
  switch (node.type) {
    case 'paragraph': {
      const attrs = attrsOf(node);
      const size = attrs.size === 16 ? undefined : px(attrs.size);
      const values = { align: align(attrs), color: color(attrs.color), 'font-size': size, padding: padding(attrs) };
      return [element('mj-text', values, `<p style="margin:0">${line(node.content, theme) || BLANK}</p>`)];
    }
    case 'heading': {
      const attrs = attrsOf(node);
      const level = Math.min(3, Math.max(1, attrs.level));
      const style = `margin:0;font-size:${HEADINGS[level - 1]}px;line-height:1.25;font-weight:700`;
      const values = { align: align(attrs), color: color(attrs.color), padding: padding(attrs) };
      const text = line(node.content, theme) || BLANK;
      return [element('mj-text', values, `<h${level} style="${style}">${text}</h${level}>`)];
    }
    case 'bulletList':
    case 'orderedList':
      return [element('mj-text', { padding: '0 24px 16px' }, listOf(node, theme))];
    case 'button':
      return [button(attrsOf(node), line(node.content, theme), theme)];
    case 'image':
      return image(attrsOf(node));
    case 'divider': {
      const attrs = attrsOf(node);
      const values = { 'border-color': color(attrs.color), 'border-width': px(attrs.thickness), padding: padding(attrs) };
      return [element('mj-divider', values)];
    }
    case 'spacer':
      return [element('mj-spacer', { height: px(attrsOf(node).height) })];
    case 'raw':
      return [element('mj-text', { padding: '0' }, plain(node.content))];
    case 'footer': {
      const attrs = attrsOf(node);
      const values = { align: attrs.align, color: color(attrs.color), 'font-size': '12px', padding: padding(attrs) };
      return [element('mj-text', values, `<p style="margin:0">${line(node.content, theme, 'inherit') || BLANK}</p>`)];
    }
    case 'condition':
      return conditionLines(node.content ?? [], theme);
    case 'loop': {
      const { item, list: of } = attrsOf(node);
      const name = expression(item).replaceAll(/\W/g, '') || 'item';
      return [tag(`for ${name} in ${expression(of) || 'items'}`), ...blocks(node.content, theme), tag('endfor')];
    }
    default:
      return [];
  }
}

function align({ align: to }: { align: string }): string | undefined {
  return to === 'center' || to === 'right' ? to : undefined;
}

function button(attrs: Attrs<'button'>, label: string, theme: Theme): string {
  const values = {
    // without one it is a link that leads nowhere, which is told; and not a text that looks like a button
    href: address(attrs.href) ?? '',
    align: attrs.align,
    'background-color': color(attrs.background) ?? color(theme.accent),
    color: color(attrs.color),
    'border-radius': px(attrs.radius),
    'font-size': '16px',
    'font-weight': '600',
    'inner-padding': '12px 24px',
    padding: padding(attrs),
    width: attrs.wide ? '100%' : undefined,
  };
  return element('mj-button', values, label);
}

function image(attrs: Attrs<'image'>): string[] {
  // a picture without an address would be shown as a broken one
  const src = address(attrs.src) ?? (WITHIN.test(attrs.src.trim()) ? attrs.src.trim() : undefined);
  if (src === undefined) return [];
  const values = {
    src,
    alt: attrs.alt,
    href: address(attrs.href),
    width: attrs.width > 0 ? px(attrs.width) : undefined,
    align: attrs.align,
    'border-radius': attrs.radius > 0 ? px(attrs.radius) : undefined,
    padding: padding(attrs),
  };
  return [element('mj-image', values)];
}

function conditionLines(branches: readonly { attrs?: Partial<Attrs<'branch'>>; content?: Block[] }[], theme: Theme): string[] {
  const lines = branches.flatMap((branch, index) => {
    const { kind, test } = attrsOf({ type: 'branch', ...branch });
    const word = index === 0 ? 'if' : kind === 'else' && index === branches.length - 1 ? 'else' : 'elsif';
    const begin = word === 'else' ? tag('else') : tag(`${word} ${expression(test) || 'true'}`);
    return [begin, ...blocks(branch.content, theme)];
  });
  return lines.length > 0 ? [...lines, tag('endif')] : [];
}

function listOf(node: Extract<Block, { type: 'bulletList' | 'orderedList' }>, theme: Theme): string {
  const name = node.type === 'bulletList' ? 'ul' : 'ol';
  const first = node.type === 'orderedList' ? Math.round(attrsOf(node).start) : 1;
  const from = Number.isFinite(first) && first !== 1 ? ` start="${first}"` : '';
  const items = (node.content ?? []).map((item) => `<li>${listItem(item, theme)}</li>`).join('');
  return `<${name}${from} style="margin:0;padding-left:24px">${items}</${name}>`;
}

function listItem(item: ListItemNode, theme: Theme): string {
  return (item.content ?? [])
    .map((block, index) => {
      if (block.type === 'bulletList' || block.type === 'orderedList') return listOf(block, theme);
      if (block.type !== 'paragraph') return '';
      return `${index > 0 ? '<br />' : ''}${line(block.content, theme)}`;
    })
    .join('');
}

/** The text of a block of HTML, as it was written. */
function plain(nodes: readonly Inline[] | undefined): string {
  return (nodes ?? [])
    .map((node) => (node.type === 'text' ? node.text : node.type === 'variable' ? node.attrs.source : '\n'))
    .join('');
}

const ORDER = ['link', 'color', 'bold', 'italic', 'underline', 'strike'] as const;
const NAMES = { bold: 'strong', italic: 'em', underline: 'u', strike: 's' } as const;

function markOf(node: Inline, type: Mark['type']): Mark | undefined {
  return node.marks?.find((mark) => mark.type === type);
}

/** The content of a line. Neighbours with the same mark stand in one element, so that a link stays one link. */
function line(nodes: readonly Inline[] | undefined, theme: Theme, linkColor?: string, level = 0): string {
  const type = ORDER[level];
  if (!nodes) return '';
  if (!type) return nodes.map(inline).join('');
  let written = '';
  let at = 0;
  while (at < nodes.length) {
    const first = nodes[at];
    if (!first) break;
    const mark = markOf(first, type);
    const key = JSON.stringify(mark);
    let end = at + 1;
    for (; end < nodes.length; end += 1) {
      const next = nodes[end];
      if (!next || JSON.stringify(markOf(next, type)) !== key) break;
    }
    const inner = line(nodes.slice(at, end), theme, linkColor, level + 1);
    written += mark ? wrapped(mark, inner, theme, linkColor) : inner;
    at = end;
  }
  return written;
}

function wrapped(mark: Mark, inner: string, theme: Theme, linkColor: string | undefined): string {
  if (mark.type === 'link') {
    const href = address(mark.attrs.href);
    if (!href) return inner;
    const shade = linkColor ?? color(theme.accent) ?? 'inherit';
    return `<a href="${escapeAttribute(href)}" style="color:${shade};text-decoration:underline">${inner}</a>`;
  }
  if (mark.type === 'color') {
    const shade = color(mark.attrs.color);
    return shade ? `<span style="color:${shade}">${inner}</span>` : inner;
  }
  const name = NAMES[mark.type];
  return `<${name}>${inner}</${name}>`;
}

function inline(node: Inline): string {
  if (node.type === 'hardBreak') return '<br />';
  return escapeText(node.type === 'variable' ? node.attrs.source : node.text);
}
