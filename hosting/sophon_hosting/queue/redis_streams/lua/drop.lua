-- Replace a permit that was read and is not used: permit.
drop_permit(ARGV[2])
permit_ready()
return 1
