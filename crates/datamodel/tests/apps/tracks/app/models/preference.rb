class Preference < ApplicationRecord
  belongs_to :user
  belongs_to :sms_context, class_name: "Context"
end
