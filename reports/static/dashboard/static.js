// Pages that need no data: they are complete as they were written.

listenToTheme();
