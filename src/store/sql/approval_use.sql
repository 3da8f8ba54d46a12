UPDATE approvals SET use = :use WHERE number = :approval AND status = 'approved' AND use = 'unused'
