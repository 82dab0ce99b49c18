import type { CompletionContext, CompletionResult, CompletionSource } from '@codemirror/autocomplete';
import { pathTo } from '../liquid.ts';
import type { Variable } from '../variables/queries';
import { LIQUID_TAGS } from './tags';

/** Completes variables after `{{` and tags after `{%`. `variables` gives those that are known when it is asked. */
export function completeLiquid(variables: () => readonly Variable[]): CompletionSource {
  return (context: CompletionContext): CompletionResult | null => {
    const output = context.matchBefore(/\{\{\{?\s*[\w.[\]"]*/);
    if (output) {
      const typed = /[\w.[\]"]*$/.exec(output.text)?.[0] ?? '';
      const isClosed = context.state.sliceDoc(context.pos, context.pos + 40).trimStart().startsWith('}}');
      return {
        from: context.pos - typed.length,
        validFor: /^[\w.]*$/,
        options: variables().map((variable) => ({
          label: pathTo(variable.name),
          detail: variable.hint,
          type: 'variable',
          apply: isClosed ? pathTo(variable.name) : `${pathTo(variable.name)}}}`,
        })),
      };
    }
    const tag = context.matchBefore(/\{%-?\s*\w*/);
    if (!tag) return null;
    const typed = /\w*$/.exec(tag.text)?.[0] ?? '';
    return {
      from: context.pos - typed.length,
      validFor: /^\w*$/,
      options: LIQUID_TAGS.map((label) => ({ label, type: 'keyword' })),
    };
  };
}
