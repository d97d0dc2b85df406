shared: one
only1: yes
secret: "s3"
