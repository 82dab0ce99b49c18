import { useState } from 'react';
import { classes } from '#/ui/classes';
import { CodeBlock } from '#/ui/copy';
import { codeFor, type CodeLanguage, type Example, LANGUAGES } from './code';
import { t } from './texts';

const CHOSEN = 'mailwright.code';

/** A request in four languages to choose from. The choice is remembered. */
export function CodeExample({ example }: { example: Example }) {
  const [language, setLanguage] = useState<CodeLanguage>(
    () => LANGUAGES.find(({ id }) => id === localStorage.getItem(CHOSEN))?.id ?? 'curl',
  );
  const choose = (id: CodeLanguage) => {
    localStorage.setItem(CHOSEN, id);
    setLanguage(id);
  };
  return (
    <div className="space-y-2">
      <div role="group" aria-label={t.language} className="flex flex-wrap gap-1">
        {LANGUAGES.map(({ id, name }) => (
          <button
            key={id}
            type="button"
            aria-pressed={id === language}
            onClick={() => choose(id)}
            className={classes(
              'h-7 rounded-control px-2 text-meta font-medium pointer-coarse:h-11',
              id === language ? 'bg-raised text-ink' : 'text-muted hover:text-ink',
            )}
          >
            {name}
          </button>
        ))}
      </div>
      <CodeBlock code={codeFor(language, example)} what={`${t.code} (${example.path})`} />
    </div>
  );
}
