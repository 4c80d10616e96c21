class Friend < ApplicationRecord
  belongs_to :inviter, class_name: "Profile"
  belongs_to :invited, class_name: "Profile"
end
