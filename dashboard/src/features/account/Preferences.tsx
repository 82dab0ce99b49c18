import { useState } from 'react';
import { changeLanguage, language } from '#/i18n/language';
import { setShortcuts, shortcutsAreOn } from '#/shell/shortcuts';
import { type Theme, useTheme } from '#/shell/theme';
import { Select, Switch } from '#/ui/form';
import { Section } from '#/ui/page';
import { t } from './texts';

/** How the dashboard looks and listens in this browser. */
export function Preferences() {
  const [theme, setTheme] = useTheme();
  const [shortcuts, setOn] = useState(shortcutsAreOn);
  return (
    <Section title={t.preferences} lead={t.preferencesText}>
      <div className="max-w-lg space-y-4">
        <div className="grid gap-4 sm:grid-cols-2">
          <Select label={t.theme} value={theme} onChange={(event) => setTheme(event.target.value as Theme)}>
            <option value="browser">{t.asBrowser}</option>
            <option value="light">{t.light}</option>
            <option value="dark">{t.dark}</option>
          </Select>
          <Select
            label={t.language}
            hint={t.languageHint}
            defaultValue={language}
            onChange={(event) => changeLanguage(event.target.value === 'de' ? 'de' : 'en')}
          >
            <option value="en" lang="en">
              English
            </option>
            <option value="de" lang="de">
              Deutsch
            </option>
          </Select>
        </div>
        <Switch
          label={t.shortcuts}
          hint={t.shortcutsHint}
          checked={shortcuts}
          onChange={(on) => {
            setShortcuts(on);
            setOn(on);
          }}
        />
      </div>
    </Section>
  );
}
