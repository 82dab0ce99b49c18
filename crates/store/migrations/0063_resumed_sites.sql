-- Interventions may be of the kind RESUME from here on, which earlier versions do not know. No row has it yet.
delete from interventions where kind = 'RESUME';
