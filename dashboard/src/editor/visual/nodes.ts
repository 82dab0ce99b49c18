import { mergeAttributes, Node } from '@tiptap/core';
import { serviceUrl } from '#/api/base';
import { type Align, DEFAULTS, FONTS, type NodeName, type Room, type Theme } from '../document.ts';
import { labelOf } from '../liquid.ts';
import { isUnset } from '../unset.ts';
import { css } from './style.ts';
import { t } from './texts';

/*
 * The nodes of a document as ProseMirror knows them. Each writes its attributes as JSON into the page, where its own
 * rules read them again: what is copied within the editor keeps them, what comes from elsewhere has none.
 */

type Values = Record<string, unknown>;

function stored(element: HTMLElement): Values {
  try {
    const value: unknown = JSON.parse(element.getAttribute('data-attrs') ?? '{}');
    return typeof value === 'object' && value !== null ? (value as Values) : {};
  } catch {
    return {};
  }
}

function attributesOf(name: NodeName) {
  const defaults: Values = DEFAULTS[name];
  return Object.fromEntries(
    Object.entries(defaults).map(([key, value]) => [
      key,
      {
        default: value,
        rendered: false,
        // the line behind a button is not white as its label is
        keepOnSplit: name === 'paragraph',
        parseHTML: (element: HTMLElement) => {
          const found = stored(element)[key];
          return typeof found === typeof value ? found : value;
        },
      },
    ]),
  );
}

function marked(name: NodeName, attrs: Values, more: Values = {}): Values {
  return mergeAttributes({ 'data-node': name, 'data-attrs': JSON.stringify(attrs) }, more);
}

function isColor(value: string): boolean {
  return /^#[0-9a-f]{6}$/i.test(value);
}

function room({ top, bottom, sides }: Room): string {
  return `${top}px ${sides}px ${bottom}px`;
}

function look(attrs: Values & Room & { align?: Align; color?: string; size?: number }): string {
  return css({
    padding: room(attrs),
    'text-align': attrs.align,
    color: attrs.color && isColor(attrs.color) ? attrs.color : undefined,
    'font-size': attrs.size ? `${attrs.size}px` : undefined,
  });
}

const tagOf = (name: NodeName) => [{ tag: `[data-node="${name}"]` }];

/** The whole: sections below each other. */
export const Doc = Node.create({ name: 'doc', topNode: true, content: 'section+' });

export const Paragraph = Node.create({
  name: 'paragraph',
  priority: 1000,
  group: 'block',
  content: 'inline*',
  addAttributes: () => attributesOf('paragraph'),
  parseHTML: () => [{ tag: 'p' }],
  renderHTML: ({ node }) => ['p', marked('paragraph', node.attrs, { style: look(node.attrs as never) }), 0],
});

export const Section = Node.create({
  name: 'section',
  content: 'column{1,4}',
  isolating: true,
  defining: true,
  addAttributes: () => attributesOf('section'),
  parseHTML: () => tagOf('section'),
  renderHTML({ node }) {
    const { background, top, bottom, fullWidth, showIf, each } = node.attrs;
    const notes = [each && t.repeats(each), showIf && t.showsIf(showIf)].filter(Boolean).join(' · ');
    const style = css({ 'background-color': isColor(background) ? background : undefined, padding: `${top}px 0 ${bottom}px` });
    const more = { class: fullWidth ? 'mw-section mw-full' : 'mw-section', style, ...(notes ? { 'data-note': notes } : {}) };
    return ['div', marked('section', node.attrs, more), 0];
  },
});

export const Column = Node.create({
  name: 'column',
  content: 'block+',
  isolating: true,
  addAttributes: () => attributesOf('column'),
  parseHTML: () => tagOf('column'),
  renderHTML({ node }) {
    const { width, background, vertical } = node.attrs;
    const style = css({
      flex: width > 0 ? `0 0 ${width}%` : '1 1 0',
      'background-color': isColor(background) ? background : undefined,
      'align-self': vertical === 'middle' ? 'center' : vertical === 'bottom' ? 'flex-end' : undefined,
    });
    return ['div', marked('column', node.attrs, { class: 'mw-column', style }), 0];
  },
});

export const Heading = Node.create({
  name: 'heading',
  group: 'block',
  content: 'inline*',
  defining: true,
  addAttributes: () => attributesOf('heading'),
  parseHTML: () => [
    ...tagOf('heading'),
    ...[1, 2, 3, 4, 5, 6].map((level) => ({ tag: `h${level}`, attrs: { level: Math.min(3, level) }, priority: 40 })),
  ],
  renderHTML: ({ node }) => [
    `h${node.attrs.level}`,
    marked('heading', node.attrs, { style: look(node.attrs as never) }),
    0,
  ],
});

export const Button = Node.create({
  name: 'button',
  group: 'block',
  content: '(text | variable)*',
  marks: '',
  defining: true,
  addAttributes: () => attributesOf('button'),
  parseHTML: () => tagOf('button'),
  renderHTML({ node }) {
    const { align, background, color, radius, wide } = node.attrs;
    const inner = css({
      'background-color': isColor(background) ? background : 'var(--mw-accent)',
      color: isColor(color) ? color : '#ffffff',
      'border-radius': `${radius}px`,
      display: wide ? 'block' : 'inline-block',
    });
    const style = css({ padding: room(node.attrs as never), 'text-align': align });
    return ['div', marked('button', node.attrs, { class: 'mw-button', style }), ['span', { style: inner }, 0]];
  },
});

/** Whether a picture was uploaded to this service: the page shows no others, and asks for nothing else. */
function isOurs(src: string): boolean {
  try {
    const { origin, pathname } = new URL(src, location.href);
    return origin === location.origin && pathname.startsWith(serviceUrl('/uploads/')) && !src.includes('{{');
  } catch {
    return false;
  }
}

export const Image = Node.create({
  name: 'image',
  group: 'block',
  atom: true,
  draggable: true,
  addAttributes: () => attributesOf('image'),
  parseHTML: () => tagOf('image'),
  renderHTML({ node }) {
    const { src, alt, width, align, radius } = node.attrs;
    const style = css({ padding: room(node.attrs as never), 'text-align': align });
    const size = css({ width: width > 0 ? `${width}px` : '100%', 'border-radius': radius > 0 ? `${radius}px` : undefined });
    const shown = isOurs(src) && src
      ? ['img', { src, alt, style: size, draggable: 'false' }]
      : ['span', { class: 'mw-empty', style: size }, src ? t.pictureAt(src) : t.noPicture];
    return ['div', marked('image', node.attrs, { style }), shown];
  },
});

export const Divider = Node.create({
  name: 'divider',
  group: 'block',
  atom: true,
  addAttributes: () => attributesOf('divider'),
  parseHTML: () => [...tagOf('divider'), { tag: 'hr' }],
  renderHTML({ node }) {
    const { color, thickness } = node.attrs;
    const line = css({ 'border-top': `${thickness}px solid ${isColor(color) ? color : '#d4d4d8'}` });
    return ['div', marked('divider', node.attrs, { style: css({ padding: room(node.attrs as never) }) }), ['div', { style: line }]];
  },
});

export const Spacer = Node.create({
  name: 'spacer',
  group: 'block',
  atom: true,
  addAttributes: () => attributesOf('spacer'),
  parseHTML: () => tagOf('spacer'),
  renderHTML: ({ node }) => [
    'div',
    marked('spacer', node.attrs, { class: 'mw-spacer', style: css({ height: `${node.attrs.height}px` }) }),
  ],
});

export const Raw = Node.create({
  name: 'raw',
  group: 'block',
  content: 'text*',
  marks: '',
  code: true,
  defining: true,
  parseHTML: () => [{ tag: '[data-node="raw"]', preserveWhitespace: 'full' as const }],
  renderHTML: ({ node }) => ['pre', marked('raw', node.attrs, { class: 'mw-raw', spellcheck: 'false' }), 0],
  addKeyboardShortcuts() {
    // leaves the code, which takes Enter for itself
    return { 'Mod-Enter': ({ editor }) => editor.isActive('raw') && editor.commands.exitCode() };
  },
});

export const Footer = Node.create({
  name: 'footer',
  group: 'block',
  content: 'inline*',
  defining: true,
  addAttributes: () => attributesOf('footer'),
  parseHTML: () => tagOf('footer'),
  renderHTML: ({ node }) => [
    'p',
    marked('footer', node.attrs, { class: 'mw-footer', style: look({ ...node.attrs, size: 12 } as never) }),
    0,
  ],
});

export const Condition = Node.create({
  name: 'condition',
  group: 'block',
  content: 'branch+',
  defining: true,
  addAttributes: () => attributesOf('condition'),
  parseHTML: () => tagOf('condition'),
  renderHTML: ({ node }) => ['div', marked('condition', node.attrs, { class: 'mw-condition' }), 0],
});

export const Branch = Node.create({
  name: 'branch',
  content: 'block+',
  isolating: true,
  defining: true,
  addAttributes: () => attributesOf('branch'),
  parseHTML: () => tagOf('branch'),
  renderHTML({ node }) {
    const { kind, test } = node.attrs;
    const words = { if: t.if, elsif: t.elsif, else: t.else }[kind as 'if'] ?? t.if;
    const unset = isUnset(kind, test);
    const label = kind === 'else' ? words : unset ? `${words} … (${t.unset})` : `${words} ${test}`;
    return ['div', marked('branch', node.attrs, { class: unset ? 'mw-branch mw-unset' : 'mw-branch', 'data-note': label }), 0];
  },
});

export const Loop = Node.create({
  name: 'loop',
  group: 'block',
  content: 'block+',
  isolating: true,
  defining: true,
  addAttributes: () => attributesOf('loop'),
  parseHTML: () => tagOf('loop'),
  renderHTML({ node }) {
    const { item, list } = node.attrs;
    return ['div', marked('loop', node.attrs, { class: 'mw-loop', 'data-note': t.repeats(`${item} in ${list || '…'}`) }), 0];
  },
});

/** A placeholder, as a chip that keeps its text. */
export const Variable = Node.create({
  name: 'variable',
  group: 'inline',
  inline: true,
  atom: true,
  addAttributes: () => ({
    source: {
      default: '{{name}}',
      rendered: false,
      parseHTML: (element: HTMLElement) => element.getAttribute('data-variable') ?? '{{name}}',
    },
  }),
  parseHTML: () => [{ tag: 'span[data-variable]' }],
  renderHTML: ({ node }) => [
    'span',
    { 'data-variable': node.attrs.source, class: 'mw-chip', title: node.attrs.source },
    labelOf(node.attrs.source),
  ],
  renderText: ({ node }) => node.attrs.source,
});

/** The theme as the editor's style has it. */
export function themeStyle(theme: Theme): Record<string, string> {
  return {
    '--mw-background': theme.background,
    '--mw-surface': theme.surface,
    '--mw-color': theme.color,
    '--mw-accent': theme.accent,
    '--mw-font': FONTS[theme.font],
    '--mw-width': `${theme.width}px`,
  };
}
