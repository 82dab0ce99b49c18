import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

/** The look of code, in the colours of the dashboard. */
export const codeTheme = [
  EditorView.theme({
    '&': { height: '100%', backgroundColor: 'var(--panel)', color: 'var(--ink)', fontSize: '12.5px' },
    '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
    '.cm-scroller': { fontFamily: 'ui-monospace, Menlo, Consolas, monospace', lineHeight: '1.6' },
    '.cm-content': { caretColor: 'var(--ink)' },
    '.cm-cursor': { borderLeftColor: 'var(--ink)' },
    '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
      backgroundColor: 'color-mix(in srgb, var(--accent) 24%, transparent) !important',
    },
    '.cm-gutters': { backgroundColor: 'var(--panel)', color: 'var(--muted)', borderRight: '1px solid var(--line)' },
    '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in srgb, var(--raised) 60%, transparent)' },
    '.cm-tooltip': { backgroundColor: 'var(--panel)', color: 'var(--ink)', border: '1px solid var(--line)', borderRadius: '6px' },
    '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--accent-ink)' },
    '.cm-panels': { backgroundColor: 'var(--raised)', color: 'var(--ink)', borderColor: 'var(--line)' },
    '.cm-textfield, .cm-button': { backgroundColor: 'var(--panel)', backgroundImage: 'none', color: 'var(--ink)', border: '1px solid var(--control)' },
    '.cm-liquid': { color: 'var(--accent)', backgroundColor: 'var(--accent-soft)', borderRadius: '3px' },
    // the mark of the library is in few fonts
    '.cm-collapsedLines::before, .cm-collapsedLines::after': { content: '"⋯" !important' },
    // no stronger: the colours of code have to be readable on it
    '.cm-changedLine': { backgroundColor: 'color-mix(in srgb, var(--accent) 5%, transparent) !important' },
  }),
  syntaxHighlighting(
    HighlightStyle.define([
      { tag: [tags.tagName, tags.angleBracket], color: 'var(--good)' },
      { tag: tags.attributeName, color: 'var(--warn)' },
      { tag: [tags.attributeValue, tags.string], color: 'var(--bad)' },
      { tag: [tags.comment, tags.meta], color: 'var(--muted)', fontStyle: 'italic' },
      { tag: [tags.keyword, tags.propertyName], color: 'var(--accent)' },
    ]),
  ),
];
