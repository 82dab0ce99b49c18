import { ChevronsUpDown, Plus } from 'lucide';
import { useMembership } from '#/features/project/open';
import { go } from '#/router';
import { PROJECT } from '#/router/address';
import { Menu } from '#/ui/menu';
import { t } from './texts';
import { Icon } from '#/ui/icon';

/** Shows the project that is open, and switches to another one. */
export function ProjectMenu() {
  const { project, projects } = useMembership();
  return (
    <Menu
      align="start"
      trigger={
        <button
          type="button"
          aria-label={`${t.switchProject}: ${project.name}`}
          className="flex h-9 min-w-0 flex-1 items-center gap-2 rounded-control px-2 text-left font-semibold hover:bg-raised pointer-coarse:h-11"
        >
          <span
            aria-hidden
            className="grid size-6 shrink-0 place-items-center rounded bg-accent text-meta text-accent-ink uppercase"
          >
            {[...project.name][0]}
          </span>
          <span className="min-w-0 flex-1 truncate">{project.name}</span>
          <Icon of={ChevronsUpDown} size={14} className="text-muted" />
        </button>
      }
      entries={[
        { heading: t.allProjects },
        ...projects.map((other) => ({
          text: other.name,
          checked: other.id === project.id,
          onSelect: () => go('/', { search: { [PROJECT]: other.id } }),
        })),
        'line',
        {
          text: t.newProject,
          icon: <Icon of={Plus} size={14} />,
          onSelect: () => go('/projects/create'),
        },
      ]}
    />
  );
}
