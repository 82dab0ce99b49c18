import { useIsAdmin, useProject } from '../open';
import { AdminNote } from '../AdminNote';
import { ConsentSettings } from './ConsentSettings';
import { IdentitySettings } from './IdentitySettings';
import { SendingSettings } from './SendingSettings';
import { TrackingSettings } from './TrackingSettings';

/** The general settings of a project, in sections that are saved one by one. */
export default function General() {
  const project = useProject();
  const locked = !useIsAdmin() || project.disabled;
  return (
    <>
      <AdminNote />
      <IdentitySettings project={project} locked={locked} />
      <SendingSettings project={project} locked={locked} />
      <TrackingSettings project={project} locked={locked} />
      <ConsentSettings project={project} locked={locked} />
    </>
  );
}
