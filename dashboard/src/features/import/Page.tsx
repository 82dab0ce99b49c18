import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '#/api/client';
import { bytes } from '#/i18n/format';
import { text, useSearchState } from '#/router';
import { Button, TextLink } from '#/ui/button';
import { CodeBlock } from '#/ui/copy';
import { Checkbox, Form, SubmitButton } from '#/ui/form';
import { Page, Section } from '#/ui/page';
import { FileDrop } from './FileDrop';
import { Preview } from './Preview';
import { previewOf } from './queries';
import { Recent } from './Recent';
import { Running } from './Running';
import { t } from './texts';
import { type Mapping, upload } from './upload';

/** `job` is the import that is under way, or was last. */
const SEARCH = { job: text };

/** Stands in until a file is chosen. */
const NO_FILE = new File([], '');

/** The columns as the preview found them: a guess counts only when it is said. */
function guessed(found: Schemas['ImportPreview'] | undefined): Mapping | undefined {
  if (!found) return undefined;
  return Object.fromEntries(found.columns.filter((one) => one.name !== '').map((one) => [one.name, one.field]));
}

/** Imports contacts from a file. */
export default function ImportPage() {
  const [{ job }, setSearch] = useSearchState(SEARCH);
  const [file, setFile] = useState<File>();
  const [mapping, setMapping] = useState<Mapping>();
  const { data, isPlaceholderData } = useQuery({ ...previewOf(file ?? NO_FILE, mapping), enabled: file !== undefined });
  // what was found for another file, or with other columns, says nothing about what would be imported now
  const found = isPlaceholderData ? undefined : data;
  const choose = (to: File | undefined) => {
    setFile(to);
    setMapping(undefined);
  };
  const start = async (form: FormData) => {
    if (!file) return;
    const { jobId } = await upload(file, { verify: form.get('verify') === 'on', mapping: mapping ?? guessed(found) });
    choose(undefined);
    setSearch({ job: jobId });
  };
  return (
    <Page title={t.title} lead={job ? undefined : t.lead} above={<TextLink to="/contacts">{t.back}</TextLink>}>
      {job ? (
        <Running key={job} id={job} onAgain={() => setSearch({ job: '' })} />
      ) : file ? (
        <Form onSubmit={start} className="space-y-6!">
          <Section
            title={t.file}
            actions={
              <Button size="small" onClick={() => choose(undefined)}>
                {t.another}
              </Button>
            }
          >
            <p className="mb-4 font-medium break-all">{t.chosen(file.name, bytes(file.size))}</p>
            <Checkbox name="verify" label={t.verify} hint={t.verifyHint} />
          </Section>
          <Preview file={file} mapping={mapping} onMapping={setMapping} />
          <div className="flex justify-end">
            <SubmitButton disabled={!found || found.problem !== null}>{found ? t.startCount(found.totalRows - found.failureCount) : t.start}</SubmitButton>
          </div>
        </Form>
      ) : (
        <>
          <FileDrop onFile={choose} />
          <Section title={t.rules}>
            <div className="space-y-3">
              <CodeBlock code={`${t.example}\nada@example.org,true,Ada,pro\ngrace@example.org,false,Grace,free`} what={t.rules} />
              <ul className="list-disc space-y-1 pl-4">
                <li>
                  <code className="font-mono">email</code> {t.emailRule}
                </li>
                <li>
                  <code className="font-mono">subscribed</code> {t.subscribedRule}
                </li>
                <li>{t.otherRule}</li>
              </ul>
            </div>
          </Section>
          <Recent />
        </>
      )}
    </Page>
  );
}
