#!/bin/bash
set -e
cat > ~/timetable.cron <<'END'
30 2 * * * backup
0,30 9-17 * * 1-5 report
0 0 1 1,4,7,10 * rotate
*/7 * * * * ping
15 8,20 * * 6,0 digest
59 23 10,20,30 5-9 * cleanup
END
