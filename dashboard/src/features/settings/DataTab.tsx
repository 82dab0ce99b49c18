import { AdminNote } from '#/features/project/AdminNote';
import { Retention } from '#/features/project/settings/Retention';
import { Erasure } from '#/features/erasure/Erasure';
import { EventNames } from '#/features/event/EventNames';
import { Fields } from '#/features/field/Fields';

/** What the project knows: fields, events, how long things are kept, and what belongs to one person. */
export default function DataTab() {
  return (
    <>
      <Fields />
      <EventNames />
      {/* every member may remove fields and events; what follows is the administrators' */}
      <AdminNote />
      <Retention />
      <Erasure />
    </>
  );
}
